package targets

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClassifyCause(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want Class
	}{
		"Config":   {&MemberError{Err: &ConfigError{Subject: "x", Err: io.EOF}}, ClassConfig},
		"Timeout":  {fmt.Errorf("x: %w", ErrTimeout), ClassTimeout},
		"Stopped":  {ErrStopRequested, ClassStopped},
		"Canceled": {context.Canceled, ClassStopped},
	} {
		got, ok := ClassifyCause(c.err)
		require.True(t, ok, name)
		require.Equal(t, c.want, got.Class, name)
	}
	for _, other := range []error{io.EOF, context.DeadlineExceeded, errors.New("x")} {
		_, ok := ClassifyCause(other)
		require.False(t, ok, other)
	}
}

func TestClassifyNetwork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want Class
	}{
		"Certificate": {fmt.Errorf("x: %w", x509.UnknownAuthorityError{}), ClassConfig},
		"NameUnknown": {&net.DNSError{IsNotFound: true}, ClassConfig},
		"NameService": {&net.DNSError{IsTemporary: true}, ClassTransient},
		"Deadline":    {context.DeadlineExceeded, ClassTimeout},
		"Refused":     {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ClassLostConnection},
		"Reset":       {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, ClassLostConnection},
		"EOF":         {fmt.Errorf("x: %w", io.ErrUnexpectedEOF), ClassLostConnection},
		"Other":       {errors.New("x"), ClassPermanent},
	} {
		require.Equal(t, c.want, ClassifyNetwork(c.err).Class, name)
	}
}
