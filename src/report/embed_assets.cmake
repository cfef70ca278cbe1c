# What the report's page is made of becomes part of the library: each file of src/report, and D3, as a string.
find_package(D3 5 REQUIRED)
set(report_dir ${CMAKE_CURRENT_LIST_DIR})
# In this order: a file uses what those before it define.
set(report_scripts format.js data.js view.js timeline.js map.js tradeoff.js tables.js network.js page.js)
list(TRANSFORM report_scripts PREPEND ${report_dir}/)

function(embed name)
  string(REPLACE ";" "," inputs "${ARGN}")
  set(output ${PROJECT_BINARY_DIR}/report/${name}.cc)
  add_custom_command(OUTPUT ${output} DEPENDS ${ARGN} ${report_dir}/embed.cmake
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DINPUTS=${inputs} -DOUTPUT=${output} -P ${report_dir}/embed.cmake
    COMMENT "Embedding ${name}" VERBATIM)
  target_sources(checkmate_report PRIVATE ${output})
endfunction()

embed(kTemplate ${report_dir}/page.html)
embed(kStyle ${report_dir}/style.css)
embed(kScript ${report_scripts})
embed(kD3 ${D3_SCRIPT})
