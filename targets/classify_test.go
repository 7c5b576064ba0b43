package targets

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
)

func TestNumbersAreOrderedAndComplete(t *testing.T) {
	t.Parallel()
	require.True(t, slices.IsSortedFunc(numbers, func(a, b numberRow) int { return int(a.number - b.number) }))
	require.Len(t, numberIndex, len(numbers), "a number stands twice")
	for _, row := range numbers {
		require.NotEmpty(t, row.class, row.number)
		require.NotEmpty(t, row.reason, row.number)
		require.NotEmpty(t, row.source, row.number)
		got := Classify(fmt.Errorf("run: %w", mssql.Error{Number: row.number}))
		require.Equal(t, Classification{Class: row.class, Number: row.number, Reason: row.reason, Source: row.source}, got)
	}
}

// The numbers that the documentation of transient errors names.
func TestDocumentedTransientNumbers(t *testing.T) {
	t.Parallel()
	for _, n := range []int32{926, 4060, 4221, 40197, 40501, 40613, 49918, 49919, 49920, 10928, 10929, 40020, 40143, 40166, 40540} {
		require.Equal(t, ClassTransient, ClassifyNumber(n).Class, n)
	}
	require.Equal(t, ClassDeadlock, ClassifyNumber(1205).Class)
	require.Equal(t, ClassTimeout, ClassifyNumber(1222).Class)
	require.Equal(t, ClassAuth, ClassifyNumber(18456).Class)
	for _, n := range []int32{64, 233, 10053, 10054, 10060} {
		require.Equal(t, ClassLostConnection, ClassifyNumber(n).Class, n)
	}
	require.Equal(t, Classification{Class: ClassPermanent, Number: 50000}, ClassifyNumber(50000))
}

func TestClassify(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err  error
		want Class
	}{
		"Nil":           {nil, ""},
		"Unknown":       {errors.New("x"), ClassPermanent},
		"Script":        {&ScriptError{Line: 1, Err: io.EOF}, ClassPermanent},
		"Config":        {&MemberError{Err: &ConfigError{Subject: "x", Err: io.EOF}}, ClassConfig},
		"Lost":          {fmt.Errorf("x: %w", errConnectionLost), ClassLostConnection},
		"EOF":           {fmt.Errorf("x: %w", io.EOF), ClassLostConnection},
		"Reset":         {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, ClassLostConnection},
		"Refused":       {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ClassLostConnection},
		"Stream":        {mssql.StreamError{InnerError: io.EOF}, ClassLostConnection},
		"Deadline":      {fmt.Errorf("x: %w", errLoginTimeout), ClassTimeout},
		"Context":       {context.DeadlineExceeded, ClassTimeout},
		"StepLimit":     {ErrTimeout, ClassTimeout},
		"Stopped":       {fmt.Errorf("x: %w", ErrStopRequested), ClassStopped},
		"NameUnknown":   {&net.DNSError{IsNotFound: true}, ClassConfig},
		"NameService":   {&net.DNSError{IsTemporary: true}, ClassTransient},
		"Certificate":   {x509.UnknownAuthorityError{}, ClassConfig},
		"FlatHandshake": {errors.New("TLS Handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"), ClassConfig},
		"CutHandshake":  {errors.New("TLS Handshake failed: cannot read handshake packet: EOF"), ClassLostConnection},
		"Accompanied":   {mssql.Error{Number: 3621, All: []mssql.Error{{Number: 1205}, {Number: 3621}}}, ClassDeadlock},
		"FirstDecides":  {mssql.Error{Number: 1222, All: []mssql.Error{{Number: 1205}, {Number: 1222}}}, ClassTimeout},
		"OfTheDriver":   {mssql.Error{Message: "server does not have an active transaction"}, ClassPermanent},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, Classify(c.err).Class)
		})
	}
	require.Equal(t, "Deadlock (1205): chosen as the victim of a deadlock", ClassifyNumber(1205).String())
	require.Equal(t, "Permanent", Classify(errors.New("x")).String())
	require.True(t, ClassDeadlock.Retryable())
	require.False(t, ClassAuth.Retryable())
}
