# D3_SCRIPT: the drawing library of the report's page, minified: Debian's node-d3, which setup installs, or any other D3 5.
find_file(D3_SCRIPT d3.min.js PATHS /usr/share/nodejs/d3/dist /usr/share/javascript/d3-5 NO_CMAKE_FIND_ROOT_PATH
  DOC "d3.min.js of D3 5")

include(FindPackageHandleStandardArgs)
if(D3_SCRIPT)
  file(READ ${D3_SCRIPT} _d3_head LIMIT 200)
  if(_d3_head MATCHES "d3js.org v([0-9.]+)")
    set(D3_VERSION ${CMAKE_MATCH_1})
  endif()
endif()
find_package_handle_standard_args(D3 REQUIRED_VARS D3_SCRIPT VERSION_VAR D3_VERSION
  REASON_FAILURE_MESSAGE "run `make setup`, which installs Debian's node-d3, or give a file with -DD3_SCRIPT=d3.min.js")
mark_as_advanced(D3_SCRIPT)
