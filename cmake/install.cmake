# `find_package(checkmate)` gives checkmate::checkmate.
include(CMakePackageConfigHelpers)

set(checkmate_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/checkmate)
install(TARGETS checkmate EXPORT checkmate-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/checkmate DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT checkmate-targets NAMESPACE checkmate:: DESTINATION ${checkmate_package_dir})

configure_package_config_file(cmake/checkmate-config.cmake.in ${PROJECT_BINARY_DIR}/checkmate-config.cmake
  INSTALL_DESTINATION ${checkmate_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/checkmate-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/checkmate-config.cmake ${PROJECT_BINARY_DIR}/checkmate-config-version.cmake
  cmake/FindHiGHS.cmake cmake/FindCairo.cmake DESTINATION ${checkmate_package_dir})
