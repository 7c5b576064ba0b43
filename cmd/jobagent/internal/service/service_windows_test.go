package service

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows/svc"
)

// A stop ends the program's context; the service ends with the program, and has its exit code.
func TestStop(t *testing.T) {
	requests, status := make(chan svc.ChangeRequest), make(chan svc.Status, 8)
	var cause error
	h := &handler{log: io.Discard, program: func(ctx context.Context, _ io.Writer) int {
		<-ctx.Done()
		cause = context.Cause(ctx)
		return 7
	}}
	ended := make(chan uint32)
	go func() {
		_, code := h.Execute(nil, requests, status)
		ended <- code
	}()
	require.Equal(t, svc.Running, (<-status).State)
	requests <- svc.ChangeRequest{Cmd: svc.Interrogate}
	require.Equal(t, svc.Running, (<-status).State)
	requests <- svc.ChangeRequest{Cmd: svc.Stop}
	stopping := <-status
	require.Equal(t, svc.StopPending, stopping.State)
	require.NotZero(t, stopping.WaitHint)
	require.EqualValues(t, 7, <-ended)
	require.ErrorIs(t, cause, ErrStopped)
	require.Equal(t, 7, h.code)
}

// A process that the service control manager did not start is not a service.
func TestNoService(t *testing.T) {
	_, ok := Run(func(context.Context, io.Writer) int { panic("it runs") })
	require.False(t, ok)
}
