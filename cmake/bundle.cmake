# Shared libraries that are installed with us, so that what is installed runs where they are missing and wherever it is moved. They
# lie in a folder of their own: no other program finds them by accident.
string(FIND "${HiGHS_LIBRARY}" /highsbox/ at)  # no system has it, and the folder that it is in may go
if(at EQUAL -1)
  set(bundle OFF)
else()
  set(bundle ON)
endif()
option(CHECKMATE_BUNDLE "Install HiGHS, and the other shared libraries that the command line needs, with us" ${bundle})

# bundle_libraries(DESTINATION ... LICENSES ... [install()'s COMPONENT and EXCLUDE_FROM_ALL])
function(bundle_libraries)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "DESTINATION;LICENSES" "")
  if(CHECKMATE_TOOLS)
    set(program $<TARGET_FILE:checkmate_tool>)
    set(inside "${static_cairo}")
  endif()
  install(CODE "set(libraries \"${HiGHS_LIBRARY}\")
    set(program \"${program}\")
    set(inside \"${inside}\")
    set(destination \"\${CMAKE_INSTALL_PREFIX}/${arg_DESTINATION}\")
    set(licenses \"\${CMAKE_INSTALL_PREFIX}/${arg_LICENSES}\")
    set(strip \"${CMAKE_STRIP}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/install_libraries.cmake\")" ${arg_UNPARSED_ARGUMENTS})
endfunction()

# loads_bundle(TARGET FOLDER...): TARGET finds the bundle in folders relative to where it is installed; without a bundle, HiGHS
# where it is now.
function(loads_bundle target)
  if(NOT CHECKMATE_BUNDLE)
    get_filename_component(folder ${HiGHS_LIBRARY} DIRECTORY)
    if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${folder})
    endif()
    return()
  endif()
  list(TRANSFORM ARGN PREPEND $ORIGIN/)
  set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${ARGN})
  # The old kind of path is also that of the libraries in the bundle, when they load one another.
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()
