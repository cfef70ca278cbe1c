# cmake -DNAME=kStyle -DINPUTS=a.js,b.js -DOUTPUT=style.cc -P embed.cmake: the files, end to end, as a string of src/report/assets.h.
string(REPLACE "," ";" inputs "${INPUTS}")
set(text "")
foreach(input IN LISTS inputs)
  file(READ "${input}" part)
  string(APPEND text "${part}")
endforeach()
file(WRITE "${OUTPUT}" "#include \"report/assets.h\"\n\nnamespace checkmate::report {\n\nconst std::string_view ${NAME} = R\"asset(${text})asset\";\n\n}  // namespace checkmate::report\n")
