# The library, one target per component. CHECKMATE_COMPONENTS chooses; what a component needs comes with it.
# Which folder may include which: tests/architecture/folders.py.
#
#     core      graph, plan, simulate, solve, layout, analysis        fmt, HiGHS
#     zoo       networks built in code                                core
#     io        files                                                 core, zoo; simdjson
#     costs     cost models                                           core, io
#     plot      pictures                                              core; cairo
#     report    the HTML page                                         core, io; D3
#     c         the interface for C                                   core, io
#     runtime   runs planned steps with LibTorch                      core; PyTorch's package
set(wanted core ${CHECKMATE_COMPONENTS})
foreach(name ${wanted})
  if(NOT name MATCHES "^(core|zoo|io|costs|plot|report|c|runtime)$")
    message(FATAL_ERROR "CHECKMATE_COMPONENTS: there is no component '${name}'; known are core, zoo, io, costs, plot, report, c, runtime")
  endif()
endforeach()
if("costs" IN_LIST wanted OR "report" IN_LIST wanted OR "c" IN_LIST wanted)
  list(APPEND wanted io)
endif()
if("io" IN_LIST wanted)
  list(APPEND wanted zoo)
endif()

function(offer_headers target)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
endfunction()

# component(NAME FOLDERS ... HEADERS ... [LINKS ...] [PACKAGES ...]): the static library checkmate_NAME; a no-op for a
# component that is not wanted.
function(component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;HEADERS;LINKS;PACKAGES")
  if(NOT name IN_LIST wanted)
    return()
  endif()
  foreach(package ${arg_PACKAGES})
    find_package(${package} REQUIRED)
  endforeach()
  list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.cc")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${arg_FOLDERS})
  set(target checkmate_${name})
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} LINKS_PACKAGES "${arg_PACKAGES}" HEADERS "${arg_HEADERS}"
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  offer_headers(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  foreach(link ${arg_LINKS})
    if(link MATCHES "^checkmate_")
      target_link_libraries(${target} PUBLIC ${link})
    else()
      target_link_libraries(${target} PRIVATE ${link})
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE fmt::fmt $<BUILD_INTERFACE:checkmate_strict>)
  # A third of a source's compile time is these headers.
  if(name STREQUAL core)
    target_precompile_headers(${target} PRIVATE <algorithm> <queue> <unordered_map> <fmt/format.h> <checkmate/solve.h>)
  elseif(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM checkmate_core)
  endif()
  set_property(GLOBAL APPEND PROPERTY CHECKMATE_BUILT_COMPONENTS ${name})
endfunction()

component(core FOLDERS core lp solve layout analysis PACKAGES fmt HiGHS LINKS HiGHS::highs
  HEADERS budget.h checkmate.h explain.h file.h graph.h layout.h least_budget.h max_batch.h milp_text.h plan.h planner.h result.h rows.h simulate.h
    solve.h stage_map.h structural_minimum.h sweep.h units.h validate.h version.h whole_costs.h)
component(zoo FOLDERS zoo LINKS checkmate_core HEADERS zoo.h)
component(io FOLDERS io PACKAGES simdjson LINKS checkmate_core checkmate_zoo simdjson::simdjson HEADERS io.h)
component(costs FOLDERS costs LINKS checkmate_core checkmate_io HEADERS cost_model.h)
component(plot FOLDERS plot PACKAGES Cairo LINKS checkmate_core
    $<INSTALL_INTERFACE:Cairo::cairo> $<BUILD_INTERFACE:$<IF:$<BOOL:$<TARGET_PROPERTY:STATIC_CAIRO>>,Cairo::static,Cairo::cairo>>
  HEADERS plot.h)
component(report FOLDERS report LINKS checkmate_core checkmate_io HEADERS report.h)
component(c FOLDERS c LINKS checkmate_core checkmate_io HEADERS c.h)
component(runtime FOLDERS runtime PACKAGES TorchCore LINKS checkmate_core TorchCore::torch HEADERS runtime.h)
if(TARGET checkmate_plot)
  include(cmake/StaticCairo.cmake)
endif()
if(TARGET checkmate_report)
  include(src/report/embed_assets.cmake)
endif()
if(TARGET checkmate_runtime)
  target_link_libraries(checkmate_runtime PUBLIC TorchCore::torch)
  # g++ 12 is wrong about torch's reference counts: GCC bug 108000 and others like it.
  target_compile_options(checkmate_runtime PUBLIC $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
endif()

# Sums of whole numbers may be taken in any order: the loops that say so with `omp simd` are vectorised.
# Not by clang under sanitizers, which cannot and complains.
if(NOT (CHECKMATE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"))
  set_source_files_properties(src/solve/anneal/memory_profile.cc PROPERTIES COMPILE_OPTIONS -fopenmp-simd)
endif()

# All components that are built, but the one that needs LibTorch: whoever wants that says so.
get_property(components GLOBAL PROPERTY CHECKMATE_BUILT_COMPONENTS)
list(REMOVE_ITEM components runtime)
list(TRANSFORM components PREPEND checkmate_)
add_library(checkmate INTERFACE)
target_link_libraries(checkmate INTERFACE ${components})

# The same in one shared library, which exports what the public headers declare and nothing else. What is private is seen by the
# programs and tests of this tree alone, which link the static ones.
list(TRANSFORM components REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
set(exports ${PROJECT_SOURCE_DIR}/src/exports.map)
add_library(checkmate_shared SHARED ${objects})
set_target_properties(checkmate_shared PROPERTIES OUTPUT_NAME checkmate EXPORT_NAME shared VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${exports})
target_link_libraries(checkmate_shared PRIVATE checkmate -Wl,--version-script=${exports})
offer_headers(checkmate_shared)
if(CHECKMATE_SANITIZE OR NOT (BUILD_SHARED_LIBS OR CHECKMATE_INSTALL))
  set_target_properties(checkmate_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

# The names for others.
add_library(checkmate::shared ALIAS checkmate_shared)
foreach(target checkmate ${components})
  string(REPLACE checkmate_ "" name ${target})
  if(BUILD_SHARED_LIBS)
    add_library(checkmate::${name} ALIAS checkmate_shared)
  else()
    add_library(checkmate::${name} ALIAS ${target})
  endif()
endforeach()
if(TARGET checkmate_runtime)
  add_library(checkmate::runtime ALIAS checkmate_runtime)
endif()
