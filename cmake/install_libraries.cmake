# Part of `cmake --install`, see bundle.cmake. Installs `libraries`, and what `program` needs, into `destination`, each under the
# name by which it is loaded, and into `licenses` what their licences, and those of the archives `inside` the program, ask to come
# with them. The C and C++ runtimes and zlib are everywhere, and others in the same process may want newer ones than ours.
if(program)
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program} RESOLVED_DEPENDENCIES_VAR needed
    PRE_EXCLUDE_REGEXES "^(ld-linux.*|lib(c|m|mvec|dl|rt|pthread|resolv|gcc_s|stdc[+][+]|z))[.]so")
  list(APPEND libraries ${needed})
  list(REMOVE_DUPLICATES libraries)
endif()

# HiGHS's own is where it installs it; Debian's packages have theirs in a place that is known.
function(install_license library)
  get_filename_component(name ${library} NAME_WE)
  file(REAL_PATH ${library} library)
  get_filename_component(text ${library}/../../share/doc/HIGHS/LICENSE.txt ABSOLUTE)
  if(NOT EXISTS ${text})
    execute_process(COMMAND dpkg-query --search ${library} OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX REPLACE ":.*" "" package "${owner}")
    set(text /usr/share/doc/${package}/copyright)
  endif()
  if(EXISTS ${text})
    file(INSTALL DESTINATION ${licenses} TYPE FILE RENAME ${name}.txt FILES ${text})
  endif()
endfunction()

foreach(library ${libraries})
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} file)
  file(INSTALL DESTINATION ${destination} TYPE PROGRAM RENAME ${name} FILES ${file})
  if(CMAKE_INSTALL_DO_STRIP AND strip)
    execute_process(COMMAND ${strip} --strip-unneeded $ENV{DESTDIR}${destination}/${name})
  endif()
endforeach()
foreach(library ${libraries} ${inside})
  install_license(${library})
endforeach()
