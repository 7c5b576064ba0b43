package main

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/bench"
)

func TestBenchHistory(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	const rounds, rows = 1, bench.HistoryFirst*bench.HistoryRowsOfRun + 3000
	f := figures(t, runBench(t, "history", "--executions", strconv.Itoa(rows), "--rounds", strconv.Itoa(rounds), "-o",
		"json"))
	// Measured runs add rows: one of the run, and those of two steps with one target each.
	byHand := 5 * (3 + 3*rounds)
	started := 1 // for the lists of active rows; stopped before its first step
	require.Equal(t, float64(rows+byHand+started), f["executions"])
	names := []string{"query_runs_of_job", "query_runs", "query_active", "query_active_of_job", "query_run", "query_top",
		"query_messages_of_run",
		"list_runs_of_job", "list_runs", "list_active", "list_active_of_job", "list_run",
		"term", "due_schedules", "list_jobs", "list_agents", "overview", "limits", "add_and_delete_job", "purge_of_job", "purge"}
	for _, name := range append(names, bench.HistoryCalls[:]...) {
		require.Positive(t, f[name+"_short"], name)
		require.Positive(t, f[name+"_long"], name)
		require.Positive(t, f[name+"_ratio"], name)
	}
	for _, name := range bench.HistoryPeriods {
		require.Positive(t, f[name], name)
	}
	require.Len(t, f, 2+len(bench.HistoryPeriods)+3*(len(names)+len(bench.HistoryCalls)))
}

func TestBenchHistoryRefusesArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--executions", "100"}, {"--executions", "100000001"}, {"--rounds", "0"}, {"--rounds", "20"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exit.CodeUsage, cli.Run(t.Context(), append([]string{"bench", "history"}, args...), nil, &stdout,
			&stderr), "%v: %s", args, stderr.String())
		require.Empty(t, stdout.String())
	}
}
