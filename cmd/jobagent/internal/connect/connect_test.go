package connect_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A command that writes checks the schema first. A command that reads checks it only after an
// error, and returns the error of the check.
func TestSchemaIsChecked(t *testing.T) {
	server, err := embedded.Start(t.Context(), "", "127.0.0.1:0", embedded.RandomPassword(), "disable", zap.NewNop())
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	master, err := server.Open("master")
	require.NoError(t, err)
	defer master.Close()
	_, err = master.ExecContext(t.Context(), "CREATE DATABASE empty;")
	require.NoError(t, err)
	app := func(database string) *connect.App {
		a := connect.New(nil, io.Discard, io.Discard)
		a.DSN, a.LogLevel = server.DSN(database), "error"
		return a
	}
	broken := errors.New("broken")
	succeed := func(*controldb.Store) error { return nil }
	fail := func(*controldb.Store) error { return broken }

	empty := app("empty")
	require.ErrorIs(t, empty.WithStore(t.Context(), succeed), dberror.ErrNotInstalled)
	require.NoError(t, empty.ReadStore(t.Context(), succeed))
	require.ErrorIs(t, empty.ReadStore(t.Context(), fail), dberror.ErrNotInstalled)

	installed := app(embedded.ControlDatabase)
	require.NoError(t, installed.WithStore(t.Context(), succeed))
	require.ErrorIs(t, installed.ReadStore(t.Context(), fail), broken)
}
