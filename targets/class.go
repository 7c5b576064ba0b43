package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

// Class is the kind of an error. Every class is retried by the step's policy, as in Azure, unless
// the step is retried after transient errors only (Retryable). The class also tells an operator who
// should act, and the agent how to wait.
type Class string

// The classes. The zero value is none.
const (
	// ClassTransient means that the error is temporary: a failover, a throttled or overloaded
	// server.
	ClassTransient Class = "Transient"
	// ClassDeadlock means that the statement was the victim of a deadlock. It can be sent again at
	// once.
	ClassDeadlock Class = "Deadlock"
	// ClassTimeout means that a lock, a connection or a query took too long.
	ClassTimeout Class = "Timeout"
	// ClassLostConnection means that the network or the server ended the connection.
	ClassLostConnection Class = "LostConnection"
	// ClassAuth means that a login, user or permission is wrong. A retry fails until it is changed.
	ClassAuth Class = "Auth"
	// ClassConfig means that a name or setting of the agent's configuration is wrong. Nothing was
	// sent.
	ClassConfig Class = "Config"
	// ClassStopped means that an operator or the agent ended the attempt.
	ClassStopped Class = "Stopped"
	// ClassPermanent is every other error. Most of them are errors of the script.
	ClassPermanent Class = "Permanent"
)

// Retryable reports whether a retry may succeed without a change to the script, the target or the
// configuration. Steps whose retry_errors is Transient are retried after these classes only.
func (c Class) Retryable() bool {
	switch c {
	case ClassTransient, ClassDeadlock, ClassTimeout, ClassLostConnection:
		return true
	default:
		return false
	}
}

// Classification is the class of an error, with the reason.
type Classification struct {
	// Class is never empty for an error.
	Class Class
	// Number is the server's error number; 0 when the error did not come from a server.
	Number int32
	// Reason is the meaning of the error in a few words; empty if it is not known.
	Reason string
	// Source is the document with the meaning of the number; empty for other errors.
	Source string
}

// ClassifyCause classifies the errors with which the agent itself ended or refused an attempt: its
// configuration, a time limit, a stop request. It returns false for every other error.
func ClassifyCause(err error) (Classification, bool) {
	var config *ConfigError
	switch {
	case errors.As(err, &config):
		return Classification{Class: ClassConfig, Reason: "the agent's configuration does not allow it"}, true
	case errors.Is(err, ErrTimeout):
		return Classification{Class: ClassTimeout, Reason: "the step's time limit passed"}, true
	case errors.Is(err, ErrStopRequested), errors.Is(err, context.Canceled):
		return Classification{Class: ClassStopped, Reason: "ended on purpose"}, true
	default:
		return Classification{}, false
	}
}

// ClassifyNetwork classifies the errors of TLS, the name service and the network. Every other error
// is permanent.
func ClassifyNetwork(err error) Classification {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		dns       *net.DNSError
		network   net.Error
	)
	switch {
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid), errors.As(err, &verify):
		return Classification{Class: ClassConfig, Reason: "the server's certificate is not trusted"}
	case errors.As(err, &dns) && dns.IsNotFound:
		return Classification{Class: ClassConfig, Reason: "the server's name is not known"}
	case errors.As(err, &dns):
		return Classification{Class: ClassTransient, Reason: "the name service did not answer"}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Classification{Class: ClassTimeout, Reason: "no answer in time"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Classification{Class: ClassLostConnection, Reason: "the server refused the connection: nothing listens there"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, io.ErrClosedPipe), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.As(err, &network):
		return Classification{Class: ClassLostConnection, Reason: "the connection was lost"}
	default:
		return Classification{Class: ClassPermanent}
	}
}

// String returns class, number and reason in one line.
func (c Classification) String() string {
	var b strings.Builder
	b.WriteString(string(c.Class))
	if c.Number != 0 {
		fmt.Fprintf(&b, " (%d)", c.Number)
	}
	if c.Reason != "" {
		b.WriteString(": " + c.Reason)
	}
	return b.String()
}
