# Installs the build and moves what was installed. The program runs there, and a stranger's project, which is our examples, finds
# the libraries there, links them and runs: static with the HiGHS of the tree, static with a HiGHS of its own, and shared.
#
#     -DBUILD_DIR=  -DSOURCE_DIR=  -DWORK_DIR=  -DHIGHS_DIR=, another folder than the tree's that has HiGHS
#     -DTORCH_DIR=, where LibTorch is, or nothing: then nothing is trained
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(expect_highs file folder)
  execute_process(COMMAND ldd ${file} OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
  if(NOT loaded MATCHES "libhighs[^ ]* => ${folder}/")
    message(FATAL_ERROR "${file} should load the HiGHS of ${folder}; it loads\n${loaded}")
  endif()
endfunction()

function(build_examples folder build)
  run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/examples/${folder} -B ${build} -G Ninja -DCMAKE_PREFIX_PATH=${moved}
    "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wconversion -Werror" ${ARGN})
  run(${CMAKE_COMMAND} --build ${build})
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/installed)
set(moved ${WORK_DIR}/moved)
file(RENAME ${WORK_DIR}/installed ${moved})

file(GLOB_RECURSE texts ${moved}/*.cmake ${moved}/*.pc ${moved}/*.h)
foreach(text ${texts})
  file(STRINGS ${text} places REGEX "${SOURCE_DIR}|${WORK_DIR}|/site-packages/")
  list(FILTER places EXCLUDE REGEX "CMAKE_CURRENT_LIST_DIR")  # where our own Find files look first
  if(places)
    message(FATAL_ERROR "${text} names a place of the machine that built it: ${places}")
  endif()
endforeach()

file(GLOB bundled ${moved}/lib*/checkmate/libhighs.so)
expect_highs(${moved}/bin/checkmate ${moved})
run(env -i ${moved}/bin/checkmate solve zoo:linear?n=8 --budget 60% --method milp)
if(NOT EXISTS ${moved}/share/doc/checkmate/LICENSE)
  message(FATAL_ERROR "the licence is not installed")
endif()

# LibTorch in a folder of its own, and no Python on the path: models train.
set(torch_option)
if(TORCH_DIR)
  file(MAKE_DIRECTORY ${WORK_DIR}/libtorch)
  foreach(part include lib)
    file(CREATE_LINK ${TORCH_DIR}/${part} ${WORK_DIR}/libtorch/${part} SYMBOLIC)
  endforeach()
  set(torch_option -DTorchCore_DIR=${WORK_DIR}/libtorch)
endif()
build_examples(cpp ${WORK_DIR}/cpp ${torch_option})
if(TORCH_DIR)
  foreach(program train_step train)
    run(env -i OMP_NUM_THREADS=1 ${WORK_DIR}/cpp/${program})
  endforeach()
endif()
expect_highs(${WORK_DIR}/cpp/first_plan ${moved})
run(${WORK_DIR}/cpp/plan_unet)
run(${WORK_DIR}/cpp/first_plan)
run(${WORK_DIR}/cpp/emit_program zoo:linear?n=8 60%)
run(${WORK_DIR}/cpp/embedded zoo:linear?n=8)

build_examples(cpp ${WORK_DIR}/own_highs -DHiGHS_ROOT=${HIGHS_DIR})
expect_highs(${WORK_DIR}/own_highs/first_plan ${HIGHS_DIR})
run(${WORK_DIR}/own_highs/first_plan)

build_examples(c ${WORK_DIR}/c "-DCMAKE_C_FLAGS=-std=c99 -pedantic -Wall -Wextra -Wconversion -Werror")
run(${WORK_DIR}/c/plan_graph zoo:linear?n=8 60%)

find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(PKG_CONFIG)
  file(GLOB PACKAGES ${moved}/lib*/pkgconfig)
  set(ENV{PKG_CONFIG_PATH} ${PACKAGES})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs checkmate OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(c++ -std=c++20 ${SOURCE_DIR}/examples/cpp/first_plan.cc ${flags} -o ${WORK_DIR}/by_pkg_config)
  get_filename_component(libraries ${PACKAGES} DIRECTORY)
  run(env LD_LIBRARY_PATH=${libraries} ${WORK_DIR}/by_pkg_config)
endif()

# A tree without HiGHS, as CHECKMATE_BUNDLE=OFF installs it: whoever has it says where.
file(REMOVE ${bundled})
run(env -i LD_LIBRARY_PATH=${HIGHS_DIR}/lib ${moved}/bin/checkmate --version)
