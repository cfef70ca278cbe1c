# Cairo::cairo, which draws the pictures of `checkmate plot`: a system package (Debian: libcairo2-dev).
find_path(Cairo_INCLUDE_DIR cairo.h PATH_SUFFIXES cairo)
find_library(Cairo_LIBRARY cairo)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cairo REQUIRED_VARS Cairo_LIBRARY Cairo_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run `make setup`, which installs libcairo2-dev, or install cairo and set Cairo_ROOT")
if(Cairo_FOUND AND NOT TARGET Cairo::cairo)
  add_library(Cairo::cairo UNKNOWN IMPORTED)
  set_target_properties(Cairo::cairo PROPERTIES IMPORTED_LOCATION ${Cairo_LIBRARY}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${Cairo_INCLUDE_DIR})
  target_include_directories(Cairo::cairo SYSTEM INTERFACE ${Cairo_INCLUDE_DIR})
endif()
mark_as_advanced(Cairo_INCLUDE_DIR Cairo_LIBRARY)
