# Compiles through ccache where it is installed, unless another launcher is set. Its folder is the user's own and outlives build
# folders. Paths are taken relative to the checkout, so that one checkout finds what another compiled; that puts the paths of the
# other one into debug information and nowhere else.
if(NOT PROJECT_IS_TOP_LEVEL OR CMAKE_CXX_COMPILER_LAUNCHER)
  return()
endif()
find_program(CCACHE_PROGRAM ccache DOC "Compiler cache; empty for none")
mark_as_advanced(CCACHE_PROGRAM)
if(NOT CCACHE_PROGRAM)
  return()
endif()
# Precompiled headers: ccache has to be lenient about macros in them, and GCC has to name them when it preprocesses. It must not be
# lenient about the times of headers: one that is edited while it is compiled would be remembered with what it was before.
set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
  CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
endif()
