# `find_package(checkmate COMPONENTS core io ...)` gives checkmate::core, checkmate::io, ...; without components, all that
# were built but the runtime, and checkmate::checkmate for them together.
include(CMakePackageConfigHelpers)

set(checkmate_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/checkmate)
get_property(checkmate_components GLOBAL PROPERTY CHECKMATE_BUILT_COMPONENTS)
foreach(component ${checkmate_components})
  get_target_property(headers checkmate_${component} HEADERS)
  list(TRANSFORM headers PREPEND include/checkmate/)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/checkmate)
  install(TARGETS checkmate_${component} EXPORT checkmate-${component} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT checkmate-${component} NAMESPACE checkmate:: DESTINATION ${checkmate_package_dir})
  get_target_property(packages checkmate_${component} LINKS_PACKAGES)
  string(APPEND checkmate_dependencies "set(checkmate_${component}_packages ${packages})\n")
  get_target_property(links checkmate_${component} INTERFACE_LINK_LIBRARIES)
  list(FILTER links INCLUDE REGEX "^checkmate_")
  list(TRANSFORM links REPLACE "^checkmate_" "")
  string(APPEND checkmate_dependencies "set(checkmate_${component}_needs ${links})\n")
endforeach()

configure_package_config_file(cmake/checkmate-config.cmake.in ${PROJECT_BINARY_DIR}/checkmate-config.cmake
  INSTALL_DESTINATION ${checkmate_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/checkmate-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/checkmate-config.cmake ${PROJECT_BINARY_DIR}/checkmate-config-version.cmake
  cmake/FindHiGHS.cmake cmake/FindCairo.cmake cmake/FindTorchCore.cmake DESTINATION ${checkmate_package_dir})
