package kerberos

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"

	"github.com/jobagent/jobagent/targets"
)

// Error is the reason why a login with Kerberos failed. Its text names the principal, the service
// principal name that was asked for, and what to do; it holds no secret.
type Error struct {
	// SPN is the service principal name that a ticket was asked for.
	SPN string
	// Principal is the client, as user@REALM. Empty: it is not known.
	Principal string
	// Reason says what is wrong, and what to do.
	Reason string
	// Class is the class for a retry.
	Class targets.Class
	// Err is the cause; nil: none that says more.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	who := ""
	if e.Principal != "" {
		who = " as " + e.Principal
	}
	text := fmt.Sprintf("Kerberos login%s for %s: %s", who, e.SPN, e.Reason)
	if e.Err != nil {
		text += ": " + oneLine(e.Err.Error())
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// oneLine removes line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// errorCode finds the number of a KDC's error in an error of the library, which flattens it into
// text.
var errorCode = regexp.MustCompile(`KRB Error: \((\d+)\)`)

// codeOf returns the KDC's error number in err (RFC 4120 7.5.9), or 0.
func codeOf(err error) int32 {
	m := errorCode.FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 32)
	return int32(n)
}

// MaxSkew is the difference of clocks that Kerberos allows by default (RFC 4120 1.3, MIT's and
// Active Directory's default).
const MaxSkew = 5 * time.Minute

// explain turns an error of the library into an *Error.
func (l login) explain(spn string, err error) *Error {
	e := &Error{SPN: spn, Principal: l.principal(), Class: targets.ClassConfig}
	text := err.Error()
	switch code := codeOf(err); {
	case code == errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		e.Reason = fmt.Sprintf("the KDC does not have the service: register it with \"setspn -S %s ACCOUNT\", where ACCOUNT runs "+
			"SQL Server, or name the registered SPN in the credential", spn)
	case code == errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN:
		e.Reason = "the KDC does not have the user: correct the user or the realm"
	case code == errorcode.KDC_ERR_PREAUTH_FAILED, code == errorcode.KRB_AP_ERR_BAD_INTEGRITY:
		e.Class = targets.ClassAuth
		if e.Reason = "the KDC refuses the password: correct the secret"; l.method == byKeytab {
			e.Reason = fmt.Sprintf("the KDC refuses the key in the keytab %s: export the keytab again, because the account's password has changed since", l.keytab)
		}
	case l.method == byKeytab && strings.Contains(text, "matching key not found in keytab"):
		e.Reason = fmt.Sprintf("the keytab %s has no key of this user: correct the user (case matters), or export the keytab again", l.keytab)
	case code == errorcode.KDC_ERR_KEY_EXPIRED:
		e.Class, e.Reason = targets.ClassAuth, "the account's password has expired: change it"
	case code == errorcode.KDC_ERR_CLIENT_REVOKED:
		e.Class, e.Reason = targets.ClassAuth, "the account is disabled or locked: unlock it in the directory"
	case code == errorcode.KDC_ERR_ETYPE_NOSUPP:
		e.Reason = "the KDC has no encryption type in common: allow AES for the account, or see default_tkt_enctypes in " + l.config
	case code == errorcode.KRB_AP_ERR_SKEW, strings.Contains(text, "clock skew"):
		e.Class, e.Reason = targets.ClassTransient, "the clocks of this machine and of the KDC differ too much"
		if skew, known := l.skew(); known {
			e.Reason = fmt.Sprintf("the clock of the KDC is %s this machine's", ahead(skew))
		}
		e.Reason += fmt.Sprintf(", and Kerberos allows %v: synchronize both with the same time servers", MaxSkew)
	case code == errorcode.KRB_AP_ERR_TKT_EXPIRED:
		e.Class, e.Reason = targets.ClassAuth, l.expired(time.Time{})
	case strings.Contains(text, "to a KDC"), strings.Contains(text, "with KDC"), strings.Contains(text, "no KDC"):
		e.Class = targets.ClassLostConnection
		e.Reason = fmt.Sprintf("no KDC of realm %s answers (%s): check the network, and the realm in %s", l.realm, l.kdcs(), l.config)
	default:
		e.Reason, e.Err = "no ticket", err
	}
	return e
}

// expired says that the tickets of the cache have expired.
func (l login) expired(since time.Time) string {
	when := ""
	if !since.IsZero() {
		when = " at " + since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("the ticket in the credential cache %s expired%s: run kinit, or use a keytab, which needs no renewal", l.cache, when)
}

// ahead describes a difference of clocks.
func ahead(skew time.Duration) string {
	if skew < 0 {
		return (-skew).Round(time.Second).String() + " behind"
	}
	return skew.Round(time.Second).String() + " ahead of"
}
