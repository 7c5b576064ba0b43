package mssql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// TestPreflight checks a target, and sends no part of the script.
func TestPreflight(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "master", "CREATE DATABASE [a.b];")
	f.exec(t, "d", "CREATE TABLE t (n int);")
	database := "d"
	check := func(options string) (targets.Result, map[string]targets.Finding) {
		p, err := mssql.ParsePreflight(options)
		require.NoError(t, err)
		res := f.runner.Run(t.Context(), mssql.Attempt{
			Attempt:   targets.Attempt{Target: targets.NewTarget("s", database, ""), Command: "INSERT INTO t VALUES (1);"},
			Preflight: p,
		})
		require.False(t, res.Sent)
		require.Len(t, res.Messages, 1)
		r, ok := targets.ParseReport(res.Messages[0].Text)
		require.True(t, ok, res.Messages[0].Text)
		byCheck := map[string]targets.Finding{}
		for _, found := range r.Preflight {
			byCheck[found.Check] = found
		}
		return res, byCheck
	}
	res, found := check("")
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Len(t, found, 9)
	for _, name := range []string{"state", "writable", "version", "compatibility", "rights", "blocking", "transactions"} {
		require.Equal(t, targets.LevelOK, found[name].Level, found[name])
	}

	res, found = check(`{"rights": ["ALTER", "CREATE TABLE", "NO'SUCH"], "min_compatibility": 999, "warn": ["compatibility"]}`)
	require.Equal(t, targets.Failed, res.Outcome)
	require.Equal(t, "Preflight: rights: the login lacks NO'SUCH.", res.Summary)
	require.True(t, res.NoRetry)
	require.Equal(t, targets.LevelWarning, found["compatibility"].Level)

	database = "a.b" // HAS_PERMS_BY_NAME takes such a name for two parts
	res, _ = check(`{"rights": ["ALTER", "CREATE TABLE"]}`)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)

	database = "d"
	f.exec(t, "master", "ALTER DATABASE d SET READ_ONLY WITH ROLLBACK IMMEDIATE;")
	res, found = check(`{"min_version": 99, "min_log_mb": 999999999}`)
	require.Equal(t, targets.Failed, res.Outcome)
	require.Contains(t, res.Summary, "writable: the database is READ_ONLY; version: the version is ")
	require.Equal(t, targets.LevelFailure, found["log_space"].Level)
}
