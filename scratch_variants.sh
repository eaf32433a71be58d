for v in "8 0 3" "8 0 4" "8 0 2" "8 64 2" "16 0 4" "16 0 6" "4 0 1" "4 32 2"; do set -- $v; echo "tiles/warp $1 kept $2 blocks $3"; TW=$1 KN=$2 BL=$3 timeout 60 python3 scratch_gpu.py time 2>&1 | tail -2; done
timeout 60 python3 scratch_gpu.py check 2>&1 | head -8
which ncu && timeout 100 ncu --clock-control none -k weigh -s 40 -c 1 --section SpeedOfLight --section ComputeWorkloadAnalysis --section WarpStateStats --section MemoryWorkloadAnalysis --section Occupancy --section InstructionStats python3 scratch_gpu.py time 2>&1 | tail -110
