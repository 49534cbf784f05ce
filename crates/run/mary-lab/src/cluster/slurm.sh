#!/bin/bash
# Shards of {folder}
# Written by `mary submit slurm`; submitted with: sbatch {script}
{lines}{preamble}# Line k of the list is the shard of array task k.
{choose}{command} &
child=$!
stopped=
trap 'stopped=1; kill -TERM "$child" 2>/dev/null' TERM
wait "$child"; code=$?
# A signal ends the wait, not the shard: it keeps what is in flight first.
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
if [ -n "$stopped" ] && [ "$code" -eq 130 ]; then
  # Told to stop (time limit, preemption), and stopped in order: once more, unless cancelled.
  case $(squeue -h -j "$SLURM_JOB_ID" -o %T) in
    RUNNING) scontrol requeue "$SLURM_JOB_ID" ;;
  esac
fi
exit "$code"
