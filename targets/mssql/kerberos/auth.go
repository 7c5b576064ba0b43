package kerberos

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/integratedauth"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/targets"
)

// Authenticator is the value of the parameter authenticator for Kerberos.
const Authenticator = "krb5"

// init registers the authenticator. The driver's list of authenticators has no lock and is read at
// each login, so that no later moment is safe.
func init() {
	provider := integratedauth.ProviderFunc(func(p msdsn.Config) (integratedauth.IntegratedAuthenticator, error) {
		return &authenticator{params: p, spn: SPN(p)}, nil
	})
	if err := integratedauth.SetIntegratedAuthenticationProvider(Authenticator, provider); err != nil {
		panic(err)
	}
}

// ticket is a ticket for a service, and its session key.
type ticket struct {
	user   types.PrincipalName
	realm  string
	ticket messages.Ticket
	key    types.EncryptionKey
}

// ticketTime is how long a ticket is used before the KDC is asked for another one. It is short, so
// that a changed keytab, password or credential cache, and a disabled account, are noticed.
const ticketTime = time.Minute

// maxTickets bounds the number of tickets in memory.
const maxTickets = 1024

// tickets are the tickets of the process, so that a thousand databases of one server cost one
// request to the KDC.
var tickets = struct {
	sync.Mutex
	known map[[sha256.Size]byte]*keptTicket
}{known: map[[sha256.Size]byte]*keptTicket{}}

// keptTicket is a ticket that may still be on its way. Its lock is held during the request.
type keptTicket struct {
	sync.Mutex
	ticket ticket
	until  time.Time
}

// ticketFor returns a ticket for a service: a known one, or one from the KDC.
func ticketFor(p msdsn.Config, spn string) (ticket, error) {
	kept := keep(sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		spn, p.User, p.Password, p.Parameters[ParameterRealm], ConfigFile(p.Parameters[ParameterConfig]),
		p.Parameters[ParameterKeytab], p.Parameters[ParameterCache],
	})))
	kept.Lock()
	defer kept.Unlock()
	if time.Now().Before(kept.until) {
		return kept.ticket, nil
	}
	var l login
	err := safely(func() (err error) {
		l, err = readLogin(p)
		return err
	})
	if err != nil {
		return ticket{}, &Error{SPN: spn, Principal: l.principal(), Class: targets.ClassConfig, Reason: oneLine(err.Error())}
	}
	err = safely(func() (err error) {
		kept.ticket, err = l.ticket(spn)
		return err
	})
	if err != nil {
		return ticket{}, err
	}
	kept.until = time.Now().Add(ticketTime)
	return kept.ticket, nil
}

// keep returns the entry of a key.
func keep(key [sha256.Size]byte) *keptTicket {
	tickets.Lock()
	defer tickets.Unlock()
	if len(tickets.known) >= maxTickets {
		clear(tickets.known)
	}
	kept := tickets.known[key]
	if kept == nil {
		kept = new(keptTicket)
		tickets.known[key] = kept
	}
	return kept
}

// safely runs f. The library indexes into files and messages without checks, and panics on damaged
// ones.
func safely(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged data: %v", v)
		}
	}()
	return f()
}

// authenticator is one login. It implements integratedauth.IntegratedAuthenticator.
type authenticator struct {
	params msdsn.Config
	spn    string
	ticket ticket
	sent   types.Authenticator
}

// InitialBytes returns the SPNEGO token of LOGIN7, with a request for the server's own proof.
func (a *authenticator) InitialBytes() ([]byte, error) {
	var err error
	if a.ticket, err = ticketFor(a.params, a.spn); err != nil {
		return nil, err
	}
	var token []byte
	err = safely(func() (err error) {
		token, err = a.token()
		return err
	})
	if err != nil {
		return nil, &Error{SPN: a.spn, Class: targets.ClassPermanent, Reason: "the token cannot be made", Err: err}
	}
	return token, nil
}

// lastTime makes the times of authenticators unique: a server takes two of the same microsecond for
// a replay.
var lastTime struct {
	sync.Mutex
	at time.Time
}

// uniqueTime returns the current time in microseconds, later than every time that it returned
// before.
func uniqueTime() time.Time {
	lastTime.Lock()
	defer lastTime.Unlock()
	now := time.Now().UTC().Truncate(time.Microsecond)
	if !now.After(lastTime.at) {
		now = lastTime.at.Add(time.Microsecond)
	}
	lastTime.at = now
	return now
}

// contextFlags ask for integrity, confidentiality and the server's proof (RFC 4121 4.1.1.1).
const contextFlags = gssapi.ContextFlagInteg | gssapi.ContextFlagConf | gssapi.ContextFlagMutual

// token returns the SPNEGO token with an AP-REQ.
func (a *authenticator) token() ([]byte, error) {
	auth, err := types.NewAuthenticator(a.ticket.realm, a.ticket.user)
	if err != nil {
		return nil, err
	}
	now := uniqueTime()
	auth.CTime, auth.Cusec = now, now.Nanosecond()/int(time.Microsecond)
	// RFC 4121 4.1.1: the length of the channel binding, the binding (none), and the flags.
	checksum := make([]byte, 24)
	binary.LittleEndian.PutUint32(checksum, 16)
	binary.LittleEndian.PutUint32(checksum[20:], contextFlags)
	auth.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: checksum}
	a.sent = auth
	request, err := messages.NewAPReq(a.ticket.ticket, a.ticket.key, auth)
	if err != nil {
		return nil, err
	}
	types.SetFlag(&request.APOptions, flags.APOptionMutualRequired)
	// Only the constructor sets the kind of the token; it needs a client for its name alone.
	named := &client.Client{Credentials: credentials.NewFromPrincipalName(a.ticket.user, a.ticket.realm)}
	inner, err := spnego.NewKRB5TokenAPREQ(named, a.ticket.ticket, a.ticket.key, nil, nil)
	if err != nil {
		return nil, err
	}
	inner.APReq = request
	bytes, err := inner.Marshal()
	if err != nil {
		return nil, err
	}
	outer := spnego.SPNEGOToken{Init: true, NegTokenInit: spnego.NegTokenInit{
		MechTypes: []asn1OID{gssapi.OIDKRB5.OID()}, MechTokenBytes: bytes,
	}}
	return outer.Marshal()
}

// NextBytes verifies the server's answer. It never returns bytes: Kerberos ends with it.
func (a *authenticator) NextBytes(answer []byte) ([]byte, error) {
	if err := safely(func() error { return a.verify(answer) }); err != nil {
		if e := (*Error)(nil); errors.As(err, &e) {
			return nil, err
		}
		return nil, &Error{SPN: a.spn, Class: targets.ClassConfig,
			Reason: "the server has not proved that it holds the key of this SPN: connect to no server that is not yours, or check duplicate SPNs with \"setspn -X\"", Err: err}
	}
	return nil, nil
}

// verify checks an SPNEGO answer, and the AP-REP in it (RFC 4120 3.2.5).
func (a *authenticator) verify(answer []byte) error {
	var token spnego.SPNEGOToken
	if err := token.Unmarshal(answer); err != nil {
		return err
	}
	if !token.Resp || token.NegTokenResp.State() == spnego.NegStateReject {
		return errors.New("the server rejects the ticket")
	}
	if len(token.NegTokenResp.ResponseToken) == 0 {
		return nil // TLS identifies the server
	}
	var inner spnego.KRB5Token
	if err := inner.Unmarshal(token.NegTokenResp.ResponseToken); err != nil {
		return err
	}
	switch {
	case inner.IsKRBError():
		return inner.KRBError
	case !inner.IsAPRep():
		return errors.New("the answer is not an AP-REP")
	}
	plain, err := crypto.DecryptEncPart(inner.APRep.EncPart, a.ticket.key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return err
	}
	var proof messages.EncAPRepPart
	if err := proof.Unmarshal(plain); err != nil {
		return err
	}
	if proof.Cusec != a.sent.Cusec || proof.CTime.Unix() != a.sent.CTime.Unix() {
		return errors.New("the AP-REP belongs to another login")
	}
	return nil
}

// Free implements integratedauth.IntegratedAuthenticator.
func (a *authenticator) Free() {}

// Numbers of errors of a login (SQL Server, "Database engine events and errors").
const (
	loginFailed     = 18456
	untrustedDomain = 18452
)

// Explain adds what to do to the error of a login with the authenticator, if the server refused it.
func Explain(p msdsn.Config, err error) error {
	var server mssqldb.Error
	if p.Parameters["authenticator"] != Authenticator || !errors.As(err, &server) {
		return err
	}
	e := &Error{SPN: SPN(p), Err: err}
	l, _ := readLogin(p)
	e.Principal = l.principal()
	switch server.Number {
	case untrustedDomain:
		e.Reason = fmt.Sprintf("the server cannot read the ticket: check with \"setspn -Q %s\" that the SPN belongs to the account that runs SQL Server, "+
			"that the clocks agree, and that Extended Protection is not Required", e.SPN)
	case loginFailed:
		e.Reason = fmt.Sprintf("the ticket is good, but the server has no login for it: CREATE LOGIN [%s] FROM WINDOWS", windowsName(l.user, l.realm))
	default:
		return err
	}
	return e
}

// windowsName returns DOMAIN\user, as SQL Server names the login of a principal. The domain's
// NetBIOS name is by default the realm's first label.
func windowsName(user, realm string) string {
	domain, _, _ := strings.Cut(realm, ".")
	return strings.ToUpper(domain) + `\` + user
}

// skewTime bounds the question for a KDC's time.
const skewTime = 3 * time.Second

// skew asks a KDC of the realm for its time, which is in the error to a request without proof. It
// returns how far the KDC is ahead.
func (l login) skew() (ahead time.Duration, known bool) {
	_, kdcs, err := l.krb5.GetKDCs(l.realm, true)
	if err != nil || len(kdcs) == 0 {
		return 0, false
	}
	name := types.NewPrincipalName(1, cmp.Or(l.user, "nobody"))
	request, err := messages.NewASReqForTGT(l.realm, l.krb5, name)
	if err != nil {
		return 0, false
	}
	// A service that does not exist makes every KDC answer with an error, which has its time.
	request.ReqBody.SName = types.NewPrincipalName(2, "jobagent/clock")
	message, err := request.Marshal()
	if err != nil {
		return 0, false
	}
	conn, err := net.DialTimeout("tcp", kdcs[1], skewTime)
	if err != nil {
		return 0, false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(skewTime))
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)); err != nil {
		return 0, false
	}
	answer, err := readKDC(conn)
	if err != nil {
		return 0, false
	}
	var e messages.KRBError
	if err := e.Unmarshal(answer); err != nil {
		return 0, false
	}
	return time.Until(e.STime.Add(time.Duration(e.Susec) * time.Microsecond)), true
}
