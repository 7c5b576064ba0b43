package kerberos

import (
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"
)

// Status is what a person wants to know of a login with Kerberos that works.
type Status struct {
	// SPN is the service principal name that a ticket was asked for.
	SPN string
	// Principal is the client, as user@REALM.
	Principal string
	// Skew is how far the KDC's clock is ahead of this machine's, if SkewKnown.
	Skew      time.Duration
	SkewKnown bool
}

// Inspect gets a ticket for the server of a connection and asks the KDC for its time. The error is
// that of a login.
func Inspect(p msdsn.Config) (Status, error) {
	s := Status{SPN: SPN(p)}
	if _, err := ticketFor(p, s.SPN); err != nil {
		return s, err
	}
	err := safely(func() error {
		l, err := readLogin(p)
		if err == nil {
			s.Principal = l.principal()
			s.Skew, s.SkewKnown = l.skew()
		}
		return err
	})
	return s, err
}
