//go:build linux

package service

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// systemd listens where NOTIFY_SOCKET says. The function returns the next messages.
func systemd(t *testing.T) (next func(n int) []string) {
	t.Helper()
	address := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram(address.Net, address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", address.Name)
	return func(n int) (messages []string) {
		t.Helper()
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(10*time.Second)))
		buffer := make([]byte, 1024)
		for range n {
			length, err := socket.Read(buffer)
			require.NoError(t, err)
			messages = append(messages, string(buffer[:length]))
		}
		return messages
	}
}

// However often the process says that it is alive, systemd hears of it four times in WatchdogSec.
func TestSupervisor(t *testing.T) {
	next := systemd(t)
	t.Setenv("WATCHDOG_USEC", "40000000000000")
	s := Supervise(zap.NewNop())
	s.Alive()
	s.Alive()
	require.Equal(t, 10_000_000*time.Second, s.every)
	s.next = time.Now()
	s.Alive()
	s.Alive()
	s.Stopping()
	require.Equal(t, []string{"READY=1\nWATCHDOG=1", "WATCHDOG=1", "STOPPING=1"}, next(3))
}

func TestSupervisorWithoutWatchdog(t *testing.T) {
	next := systemd(t)
	s := Supervise(zap.NewNop())
	s.Alive()
	s.Alive()
	s.Stopping()
	require.Equal(t, []string{"READY=1", "STOPPING=1"}, next(2))
}

func TestSupervisorWithoutSystemd(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	core, logs := observer.New(zap.DebugLevel)
	s := Supervise(zap.New(core))
	s.Alive()
	s.Stopping()
	require.Zero(t, logs.Len())

	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "absent"))
	t.Setenv("WATCHDOG_USEC", "often")
	s = Supervise(zap.New(core))
	s.Alive()
	require.Equal(t, 1, logs.FilterMessage("could not notify systemd").Len())
	require.Equal(t, 2, logs.Len())
}
