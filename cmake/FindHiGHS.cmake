# HiGHS::highs, for its C interface. In an installed tree that has it, the one beside our libraries, unless HiGHS_ROOT names another;
# elsewhere a system package, or PyPI's highsbox, which setup puts into .venv and `pip install` beside its build tools. HiGHS's own
# package file asks for the development files of BLAS and zlib, which its users do not need.
include(FindPackageHandleStandardArgs)
set(_highs_bundled ${CMAKE_CURRENT_LIST_DIR}/../../checkmate/libhighs.so)
if(EXISTS ${_highs_bundled} AND NOT HiGHS_ROOT AND NOT DEFINED ENV{HiGHS_ROOT})
  get_filename_component(HiGHS_LIBRARY ${_highs_bundled} ABSOLUTE)
  find_package_handle_standard_args(HiGHS REQUIRED_VARS HiGHS_LIBRARY)
else()
  file(GLOB _highs_venv ${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages/highsbox/highs_dist)
  find_path(HiGHS_INCLUDE_DIR interfaces/highs_c_api.h HINTS ${_highs_venv}
    PATH_SUFFIXES include/highs highs highsbox/highs_dist/include/highs)
  find_library(HiGHS_LIBRARY highs HINTS ${_highs_venv} PATH_SUFFIXES lib highsbox/highs_dist/lib)
  find_package_handle_standard_args(HiGHS REQUIRED_VARS HiGHS_LIBRARY HiGHS_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install HiGHS and set HiGHS_ROOT to its folder, or in a checkout run `make setup`")
endif()
if(HiGHS_FOUND AND NOT TARGET HiGHS::highs)
  add_library(HiGHS::highs UNKNOWN IMPORTED)
  set_target_properties(HiGHS::highs PROPERTIES IMPORTED_LOCATION ${HiGHS_LIBRARY})
  target_include_directories(HiGHS::highs SYSTEM INTERFACE ${HiGHS_INCLUDE_DIR})
endif()
mark_as_advanced(HiGHS_INCLUDE_DIR HiGHS_LIBRARY)
