package auth

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/targets/mssql/kerberos/acceptor"
)

// Kerberos says that callers of the ARM surfaces and of the dashboard may log in with Kerberos
// tickets, by the scheme Negotiate (RFC 4559). The zero value means that they may not.
//
// The front holds the key of HTTP/host, where host is the name in the address that clients use.
// Channel bindings are not verified: the front does not know them behind a proxy, and a ticket for
// HTTP/host is of use to no other server.
type Kerberos struct {
	// Keytab is the path of the file with the keys. It is read when the front starts.
	Keytab string `json:"keytab"`
}

// schemeNegotiate is the scheme of RFC 4559.
const schemeNegotiate = "Negotiate"

// kerberosKind begins the ID of a caller with a ticket: "kerberos:alice@CORP.EXAMPLE.COM".
const kerberosKind = "kerberos:"

// negotiator accepts tickets.
type negotiator struct {
	verifier *acceptor.Verifier
	origins  *http.CrossOriginProtection
}

// addKerberos adds the keys of tickets.
func (a *Auth) addKerberos(f *faults, cfg Kerberos) {
	if cfg.Keytab == "" {
		return
	}
	n := &negotiator{origins: http.NewCrossOriginProtection()}
	var err error
	if n.verifier, err = acceptor.Load(cfg.Keytab); err != nil {
		f.add("kerberos.keytab", err)
		return
	}
	if u, err := url.Parse(a.options.PublicURL); err == nil && u.Host != "" {
		f.add("public_url", n.origins.AddTrustedOrigin(u.Scheme+"://"+u.Host))
	}
	a.negotiator = n
}

// Negotiates reports whether people can sign in with Kerberos tickets.
func (a *Auth) Negotiates() bool { return a.negotiator != nil }

// Negotiate returns the caller of a request with a Kerberos ticket, and the value of
// WWW-Authenticate that proves the front to the client; it is empty if the client asked for no
// proof. Errors are of type *rest.Error; that of a request without a ticket asks for one.
//
// Browsers send tickets by themselves, also for requests that other sites make. So what changes
// something must come from the front's own pages, or not from a browser.
func (a *Auth) Negotiate(h *http.Request) (p rest.Principal, proof string, err error) {
	scheme, text, _ := strings.Cut(h.Header.Get("Authorization"), " ")
	switch {
	case a.negotiator == nil || !strings.EqualFold(scheme, schemeNegotiate):
		return p, "", a.refusedTicket("Authentication failed. The request has no Kerberos ticket.")
	case a.negotiator.origins.Check(h) != nil:
		return p, "", &rest.Error{
			Status: http.StatusForbidden, Code: rest.CodeForbidden,
			Message: "A page of another site has made this request. Nothing was done.",
		}
	}
	token, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return p, "", a.refusedTicket("Authentication failed. The header Authorization is not in base64.")
	}
	if strings.HasPrefix(string(token), "NTLMSSP\x00") {
		return p, "", a.refusedTicket("Authentication failed. The client sent NTLM, which is not accepted: it got no ticket for HTTP/" +
			printable(hostOf(h)) + ". Register this SPN (setspn -S), and use the address with this name.")
	}
	accepted, err := a.negotiator.verifier.Accept(token)
	if err != nil {
		a.options.Log.Info("a Kerberos ticket was refused", zap.String("address", h.RemoteAddr), zap.Error(err))
		return p, "", a.refusedTicket("Authentication failed. The Kerberos ticket was refused. The log of the front says why.")
	}
	if len(accepted.Answer) > 0 {
		proof = schemeNegotiate + " " + base64.StdEncoding.EncodeToString(accepted.Answer)
	}
	name := accepted.User + "@" + accepted.Realm
	return rest.Principal{ID: kerberosKind + name, Name: printable(name)}, proof, nil
}

// hostOf returns the name of the front in a request.
func hostOf(h *http.Request) string {
	host := (&url.URL{Host: h.Host}).Hostname()
	return strings.ToLower(host)
}

// refusedTicket returns the error that asks for a ticket.
func (a *Auth) refusedTicket(message string) error {
	e := &rest.Error{Status: http.StatusUnauthorized, Code: rest.CodeUnauthenticated, Message: message}
	if a.negotiator != nil {
		e.Header = http.Header{"Www-Authenticate": {schemeNegotiate}}
	}
	return e
}
