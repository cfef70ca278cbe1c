# `find_package(checkmate COMPONENTS core io ...)` gives the static libraries checkmate::core, checkmate::io, ..., `COMPONENTS
# shared` the shared one; without components, checkmate::checkmate is all static ones but the runtime. With BUILD_SHARED_LIBS, all
# these names are the shared one. The tree can be moved: nothing in it names the place where it, this checkout or HiGHS was.
include(CMakePackageConfigHelpers)

set(checkmate_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/checkmate)
get_property(checkmate_components GLOBAL PROPERTY CHECKMATE_BUILT_COMPONENTS)
if(BUILD_SHARED_LIBS)
  list(REMOVE_ITEM checkmate_components runtime torch)  # which are static libraries, over static ones
endif()
foreach(component ${checkmate_components})
  set(target checkmate_${component})
  get_target_property(headers ${target} HEADERS)
  list(TRANSFORM headers PREPEND include/checkmate/)
  list(TRANSFORM headers REPLACE "(.*/version.h)" "${PROJECT_BINARY_DIR}/\\1")
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/checkmate)
  if(BUILD_SHARED_LIBS)
    continue()
  endif()
  install(TARGETS ${target} EXPORT checkmate-${component} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT checkmate-${component} NAMESPACE checkmate:: DESTINATION ${checkmate_package_dir})
  get_target_property(packages ${target} LINKS_PACKAGES)
  string(APPEND checkmate_dependencies "set(checkmate_${component}_packages ${packages})\n")
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  list(FILTER links INCLUDE REGEX "^checkmate_")
  list(TRANSFORM links REPLACE "^checkmate_" "")
  string(APPEND checkmate_dependencies "set(checkmate_${component}_needs ${links})\n")
endforeach()

loads_bundle(checkmate_shared checkmate)
install(TARGETS checkmate_shared EXPORT checkmate-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT checkmate-shared NAMESPACE checkmate:: DESTINATION ${checkmate_package_dir})

configure_package_config_file(cmake/checkmate-config.cmake.in ${PROJECT_BINARY_DIR}/checkmate-config.cmake
  INSTALL_DESTINATION ${checkmate_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/checkmate-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/checkmate-config.cmake ${PROJECT_BINARY_DIR}/checkmate-config-version.cmake
  cmake/FindHiGHS.cmake cmake/FindCairo.cmake cmake/FindTorchCore.cmake DESTINATION ${checkmate_package_dir})

# The shared library for those who build without CMake.
file(RELATIVE_PATH checkmate_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/checkmate.pc.in checkmate.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/checkmate.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(CHECKMATE_BUNDLE)
  bundle_libraries(DESTINATION ${CMAKE_INSTALL_LIBDIR}/checkmate LICENSES ${CMAKE_INSTALL_DOCDIR}/licenses)
endif()
