package clitest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/testenv"
)

// Server starts an embedded server without encryption, and closes it when the test ends. Its
// control database is a copy of the one that the tests of the process share.
func Server(t testing.TB, options ...embedded.Option) *embedded.Server {
	t.Helper()
	return ServerWith(t, embedded.RandomPassword(), "disable", options...)
}

// ServerWith is Server with the password of sa and the encryption that connections use.
func ServerWith(t testing.TB, password, encrypt string, options ...embedded.Option) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(t.Context(), "", "127.0.0.1:0", password, encrypt, zap.NewNop(), append(options, Installed(t))...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// Installed makes the control database a copy of the one that the tests of the process share.
func Installed(t testing.TB) embedded.Option {
	t.Helper()
	image := testenv.Installed(t)
	return func(cfg *embedded.Config) { cfg.Control = image }
}

// Context returns a context for commands in which a server that a command starts has a copy of
// that control database: an installation takes longer than most of these commands.
func Context(t testing.TB) context.Context {
	t.Helper()
	return embedded.WithControl(t.Context(), testenv.Installed(t))
}
