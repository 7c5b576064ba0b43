package mssql

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

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
	"github.com/jobagent/jobagent/targets/mssql/kerberos"
)

func TestNumbersAreOrderedAndComplete(t *testing.T) {
	t.Parallel()
	require.True(t, slices.IsSortedFunc(numbers, func(a, b numberRow) int { return int(a.number - b.number) }))
	require.Len(t, numberIndex, len(numbers), "a number stands twice")
	for _, row := range numbers {
		require.NotEmpty(t, row.class, row.number)
		require.NotEmpty(t, row.reason, row.number)
		require.NotEmpty(t, row.source, row.number)
		got := Classify(fmt.Errorf("run: %w", mssqldb.Error{Number: row.number}))
		require.Equal(t, targets.Classification{Class: row.class, Number: row.number, Reason: row.reason,
			Source: row.source}, got)
	}
}

// The numbers in the documentation of transient errors.
func TestDocumentedTransientNumbers(t *testing.T) {
	t.Parallel()
	for _, n := range []int32{926, 4060, 4221, 40197, 40501, 40613, 49918, 49919, 49920, 10928, 10929, 40020, 40143,
		40166, 40540} {
		require.Equal(t, targets.ClassTransient, ClassifyNumber(n).Class, n)
	}
	require.Equal(t, targets.ClassDeadlock, ClassifyNumber(1205).Class)
	require.Equal(t, targets.ClassTimeout, ClassifyNumber(1222).Class)
	require.Equal(t, targets.ClassAuth, ClassifyNumber(18456).Class)
	for _, n := range []int32{64, 233, 10053, 10054, 10060} {
		require.Equal(t, targets.ClassLostConnection, ClassifyNumber(n).Class, n)
	}
	require.Equal(t, targets.Classification{Class: targets.ClassPermanent, Number: 50000}, ClassifyNumber(50000))
}

func TestClassify(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err  error
		want targets.Class
	}{
		"Nil":           {nil, ""},
		"Unknown":       {errors.New("x"), targets.ClassPermanent},
		"Script":        {&ScriptError{Line: 1, Err: io.EOF}, targets.ClassPermanent},
		"Config":        {&targets.MemberError{Err: &targets.ConfigError{Subject: "x", Err: io.EOF}}, targets.ClassConfig},
		"Lost":          {fmt.Errorf("x: %w", errConnectionLost), targets.ClassLostConnection},
		"EOF":           {fmt.Errorf("x: %w", io.EOF), targets.ClassLostConnection},
		"Reset":         {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, targets.ClassLostConnection},
		"Refused":       {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, targets.ClassLostConnection},
		"Stream":        {mssqldb.StreamError{InnerError: io.EOF}, targets.ClassLostConnection},
		"Deadline":      {fmt.Errorf("x: %w", ErrLoginTimeout), targets.ClassTimeout},
		"Context":       {context.DeadlineExceeded, targets.ClassTimeout},
		"StepLimit":     {targets.ErrTimeout, targets.ClassTimeout},
		"Stopped":       {fmt.Errorf("x: %w", targets.ErrStopRequested), targets.ClassStopped},
		"NameUnknown":   {&net.DNSError{IsNotFound: true}, targets.ClassConfig},
		"NameService":   {&net.DNSError{IsTemporary: true}, targets.ClassTransient},
		"Certificate":   {x509.UnknownAuthorityError{}, targets.ClassConfig},
		"FlatHandshake": {errors.New("TLS Handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"), targets.ClassConfig},
		"CutHandshake":  {errors.New("TLS Handshake failed: cannot read handshake packet: EOF"), targets.ClassLostConnection},
		"Accompanied": {mssqldb.Error{Number: 3621, All: []mssqldb.Error{{Number: 1205}, {Number: 3621}}},
			targets.ClassDeadlock},
		"FirstDecides": {mssqldb.Error{Number: 1222, All: []mssqldb.Error{{Number: 1222}, {Number: 1205}}},
			targets.ClassTimeout},
		"Encryption":     {&EncryptionError{Err: io.EOF}, targets.ClassConfig},
		"Variable":       {&VariableError{Name: "x", Err: io.EOF}, targets.ClassPermanent},
		"Exceeded":       {&tdsguard.Exceeded{Limit: "value_bytes"}, targets.ClassPermanent},
		"Violation":      {&tdsguard.Violation{What: "x"}, targets.ClassLostConnection},
		"WithoutTicket":  {&kerberos.Error{Class: targets.ClassAuth, Err: errors.New("x")}, targets.ClassAuth},
		"Kerberos":       {&kerberos.Error{Err: io.EOF}, targets.ClassLostConnection},
		"UnsentHello":    {errors.New("TLS Handshake failed: cannot send handshake packet: broken pipe"), targets.ClassLostConnection},
		"SlowHandshake":  {fmt.Errorf("cannot read handshake packet: %w", context.DeadlineExceeded), targets.ClassTimeout},
		"OtherHandshake": {errors.New("TLS Handshake failed: tls: no cipher suite"), targets.ClassPermanent},
		"OfTheDriver":    {mssqldb.Error{Message: "server does not have an active transaction"}, targets.ClassPermanent},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, Classify(c.err).Class)
		})
	}
	require.Equal(t, "Deadlock (1205): chosen as the victim of a deadlock", ClassifyNumber(1205).String())
	require.Equal(t, "Permanent", Classify(errors.New("x")).String())
	accompanied := mssqldb.Error{Number: 8134, All: []mssqldb.Error{{Number: 8134}, {Number: 3621}}}
	require.Equal(t, int32(8134), Classify(accompanied).Number, "3621 only accompanies it")
	require.True(t, Unavailable(40613))
	require.False(t, Unavailable(18456), "it is that of a wrong login as well")
	require.True(t, RefusesLogin(18486))
	require.False(t, RefusesLogin(18456), "its text says no reason")
	require.True(t, targets.ClassDeadlock.Retryable())
	require.False(t, targets.ClassAuth.Retryable())
}
