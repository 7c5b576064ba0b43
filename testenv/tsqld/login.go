package tsqld

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

const (
	// loginTime is the time limit from the first byte to the answer of the login.
	loginTime = 30 * time.Second
	// maxLogin is the largest PRELOGIN or LOGIN7 message in bytes (MS-TDS 2.2.6.4: 128K - 1).
	maxLogin = 128 << 10
	// defaultLanguage is the default language of all logins.
	defaultLanguage = "us_english"
)

// productVersion is that of SQL Server 2022, in the form of LOGINACK.
var productVersion = [4]byte{16, 0, 0x03, 0xE8}

// logIn performs the login, from the first byte to an open session.
func (c *conn) logIn() error {
	if err := c.nc.SetDeadline(time.Now().Add(loginTime)); err != nil {
		return fmt.Errorf("limit login: %w", err)
	}
	plain, err := c.negotiate()
	if err != nil {
		return err
	}
	h, payload, err := c.readLogin(plain)
	c.record(h, payload, err)
	if err != nil {
		return fmt.Errorf("%w: read login: %w", ErrClientGone, err)
	}
	if plain { // only the login was encrypted, if anything
		c.setTransport(c.in, c.nc)
	}
	c.beginReply()
	if h.Type != tds.PacketLogin7 {
		return &tds.FormatError{What: fmt.Sprintf("packet of type %#02x instead of a login", byte(h.Type))}
	}
	l, err := tds.ReadLogin(payload)
	if errors.Is(err, tds.ErrVersion) {
		c.version = tds.Version71 // an older client is most likely to read this version's tokens
		return c.refuse(mserr.NotSupported("a TDS version before 7.1"))
	}
	if err != nil {
		return err
	}
	c.version = l.Version
	c.multiple = c.multiple && c.version.Multiple()
	size := tds.ClampPacketSize(l.PacketSize, !plain)
	c.login = login{User: l.User, Password: string(l.Password), Database: l.Database, Language: l.Language, App: l.App, Host: l.Host,
		Library: l.Library, PID: int(int32(l.PID)), Version: uint32(l.Version),
		PacketSize: size, ReadOnlyIntent: l.ReadOnlyIntent(), Encrypted: !plain, NewPassword: string(l.NewPassword),
		Windows: l.Integrated(), Multiple: c.multiple,
		Local: c.nc.LocalAddr(), Remote: c.nc.RemoteAddr()}
	if err := c.open(l); err != nil {
		return err
	}
	c.srv.admission.remove(c.pending)
	if s, ok := c.session.(identified); ok {
		c.out.SetSPID(uint16(s.SPID()))
	}
	if err := c.nc.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("end login's limit: %w", err)
	}
	return c.sendLoginAck(l, size)
}

// readLogin reads the message after PRELOGIN. With login-only encryption some clients encrypt only
// its first packet.
func (c *conn) readLogin(plain bool) (tds.Header, []byte, error) {
	first, payload, err := tds.ReadPacket(c.src)
	for h := first; err == nil && !h.EOM(); {
		if plain {
			next, peekErr := c.in.Peek(1)
			if peekErr == nil && tds.PacketType(next[0]) == tds.PacketLogin7 {
				c.src = c.in
			}
		}
		var more []byte
		if h, more, err = tds.ReadPacket(c.src); err == nil {
			payload = append(payload, more...)
		}
		if err == nil && (h.Type != first.Type || len(payload) > maxLogin) {
			err = &tds.FormatError{What: "login: packet of another type, or too long"}
		}
	}
	return first, payload, err
}

// Reasons of [LoginFailure] for refused logins; the interpreter has others.
const (
	reasonPlain  = "the server requires encryption, and the client does not encrypt"
	reasonLong   = "a name or password of the login is longer than 128 characters"
	reasonLocked = "locked out after too many failures"
	reasonFull   = "too many connections"
	// reasonRecovery comes before the reason why the data is malformed.
	reasonRecovery = "data of a session to recover: "
	// reasonNoKeytab is that of a login with integrated authentication.
	reasonNoKeytab = "integrated authentication, and the server has no keytab"
)

// open checks the login and opens the session. If it returns an error, the refusal has been sent.
func (c *conn) open(l *tds.Login) error {
	defer func() { c.login.Password, c.login.NewPassword = "", "" }()
	if err := c.fault(c.ctx, BeforeLogin, nil, 0); err != nil {
		return c.refuseError(err)
	}
	switch {
	case c.srv.cfg.RequireTLS && !c.login.Encrypted:
		c.refused(LoginFailure{Reason: reasonPlain})
		return c.refuse(mserr.EncryptionRequired())
	case l.TooLong() != "":
		c.refused(LoginFailure{Reason: reasonLong})
		return c.refuse(mserr.InvalidLoginPacket())
	case l.Integrated():
		if err := c.acceptTicket(l); err != nil {
			return err
		}
	case l.HasFeature(tds.FeatureFedAuth):
		return c.refuse(mserr.NotSupported("authentication by a token"))
	case l.AttachFile != "":
		return c.refuse(mserr.NotSupported("attaching a database file at login"))
	}
	user := c.login.User
	if c.login.Windows { // its failures must not lock out a SQL login of the same name
		user += "@" + c.login.Realm
	}
	if err := c.readRecovery(l); err != nil {
		c.refused(LoginFailure{Reason: reasonRecovery + err.Error()})
		return c.refuse(mserr.InvalidLoginPacket())
	}
	client := clientKey(c.nc)
	locked, wait := c.srv.lockout.check(client, user)
	if locked {
		// The error does not reveal whether the login exists and whether the password is right:
		// neither was checked.
		c.refused(LoginFailure{Login: user, Reason: reasonLocked})
		c.sleep(longestDelay)
		return c.refuse(mserr.AccountLocked(user))
	}
	c.sleep(wait)
	if !c.srv.admission.addUser() {
		c.refused(LoginFailure{Login: user, Reason: reasonFull})
		return c.refuse(mserr.TooManyConnections(c.srv.admission.maxUsers))
	}
	s, err := c.srv.engine.open(c.ctx, c.login)
	if err == nil && l.LanguageRequired() && !knownLanguage(l.Language) {
		err = errors.Join(mserr.LoginLanguageRefused(l.Language), s.Close())
	}
	if err == nil {
		c.admitted, c.session = true, s
		if r, ok := s.(recoverable); ok && l.HasFeature(tds.FeatureSessionRecovery) {
			c.states = tds.NewSessionStates(r.InitialStates(), r.States())
		}
		c.srv.lockout.succeeded(client, user)
		return nil
	}
	c.srv.admission.removeUser()
	c.failedLogin(client, user, err)
	return c.refuseError(err)
}

// readRecovery reads the data of the session that a login continues.
func (c *conn) readRecovery(l *tds.Login) error {
	f := l.Feature(tds.FeatureSessionRecovery)
	if f == nil {
		return nil
	}
	r, err := tds.ReadRecovery(f.Data)
	if err != nil || r == nil {
		return err
	}
	part := func(p tds.RecoveryPart) session.RecoveryPart {
		return session.RecoveryPart{Database: p.Database, Language: p.Language, States: p.States}
	}
	c.login.Recovery = &session.Recovery{Initial: part(r.Initial), Current: part(r.Current)}
	return nil
}

// knownLanguage reports whether a login can have the language; "" is the default.
func knownLanguage(name string) bool { return name == "" || types.LanguageByName(name) != nil }

// acceptTicket verifies the Kerberos ticket of a login with integrated authentication, and sets the
// name of its login. If it returns an error, the refusal has been sent: SQL Server tells the client
// 18452 for each fault of a ticket, and its log tells the reason (17806).
func (c *conn) acceptTicket(l *tds.Login) error {
	reason := reasonNoKeytab
	if c.srv.tickets != nil {
		accepted, err := c.srv.tickets.Accept(l.SSPI)
		if err == nil {
			c.proof = accepted.Answer
			c.login.User, c.login.Realm, c.login.Foreign = accepted.User, accepted.Realm, accepted.Foreign
			return nil
		}
		reason = "SSPI handshake failed: " + err.Error()
	}
	c.refused(LoginFailure{Reason: reason})
	return c.refuse(mserr.UntrustedDomain())
}

// failedLogin reports a failed login, and delays its answer if the name or the password was wrong.
// client is the [clientKey].
func (c *conn) failedLogin(client, user string, err error) {
	m := (*mserr.Error)(nil)
	if !errors.As(err, &m) {
		return
	}
	f := LoginFailure{Login: user, Reason: m.Message}
	if r := (*session.LoginError)(nil); errors.As(err, &r) {
		f.Reason = r.Reason
	}
	var delay time.Duration
	if m.Number == 18456 {
		delay, f.Locked = c.srv.lockout.failed(client, user)
	}
	c.refused(f)
	c.sleep(delay)
}

// refused reports a login that was refused.
func (c *conn) refused(f LoginFailure) {
	f.Address = c.nc.RemoteAddr()
	c.srv.failures.report(f)
}

// sleep waits until d has passed, or the connection or the server ends.
func (c *conn) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	case <-c.srv.closing:
	}
}

// refuseError ends the login. It sends the client a *mserr.Error as it is and hides every other
// error.
func (c *conn) refuseError(err error) error {
	var m *mserr.Error
	if errors.As(err, &m) {
		return c.refuse(m)
	}
	if errors.Is(err, ErrClose) || c.ctx.Err() != nil {
		return err
	}
	c.srv.report(err)
	return errors.Join(err, c.refuse(mserr.Internal()))
}

// refuse sends the error and waits for the client to close the connection. Error 18456 follows the
// errors of a database that cannot be opened, as SQL Server sends and clients expect it, and that
// of an unknown language (18456 with state 17 in SQL Server's log: "Unable to determine the initial
// language and date format").
func (c *conn) refuse(m *mserr.Error) error {
	err := error(m)
	b := tds.AppendMessage(nil, m, pipeHost, c.version)
	if m.Number == 4060 || m.Number == 4064 || m.Number == 4019 {
		b = tds.AppendMessage(b, mserr.LoginFailed(c.login.User), pipeHost, c.version)
	}
	if _, werr := c.out.Write(b); werr != nil {
		return werr
	}
	if werr := c.sendDone(tds.DoneError, 0); werr != nil {
		return werr
	}
	// No goroutine reads the connection yet, and the client has nothing to send but its close.
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		if c.nc.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(c.in, maxLogin))
		}
	}
	return fmt.Errorf("login refused: %w", err)
}

// negotiate answers PRELOGIN and starts TLS. Afterwards c.src is the source of the login and c.out
// takes its answer. plain reports that nothing after the login is encrypted.
func (c *conn) negotiate() (plain bool, err error) {
	first, err := c.in.Peek(1)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrClientGone, err)
	}
	strict := tds.PacketType(first[0]) == tds.TLSHandshake
	if strict {
		if err := c.startTLS(true); err != nil {
			return false, err
		}
	} else if tds.PacketType(first[0]) != tds.PacketPrelogin {
		return true, nil // a client may omit PRELOGIN; logIn checks the type
	}
	h, payload, err := tds.ReadMessage(c.src, maxLogin)
	c.record(h, payload, err)
	if err != nil {
		return false, fmt.Errorf("%w: read prelogin: %w", ErrClientGone, err)
	}
	c.pending.begun.Store(true)
	if h.Type != tds.PacketPrelogin {
		return false, &tds.FormatError{What: fmt.Sprintf("packet of type %#02x instead of a prelogin", byte(h.Type))}
	}
	asked, err := tds.ReadPrelogin(payload)
	if err != nil {
		return false, err
	}
	answer := tds.Prelogin{Version: [6]byte{16, 0, 0x03, 0xE8}, Encryption: asked.Encryption.Answer(c.srv.cfg.RequireTLS),
		MARS: asked.MARS}
	if strict {
		answer.Encryption = tds.EncryptOn
	}
	c.multiple = asked.MARS
	c.beginReply()
	if _, err := c.out.Write(tds.AppendPrelogin(nil, &answer)); err != nil {
		return false, err
	}
	if err := c.endReply(); err != nil {
		return false, err
	}
	if answer.Encryption == tds.EncryptRequired && !asked.Encryption.Supported() {
		c.refused(LoginFailure{Reason: reasonPlain})
		return false, fmt.Errorf("login refused: %s", reasonPlain)
	}
	if !strict && answer.Encryption != tds.EncryptNotSupported {
		if err := c.startTLS(false); err != nil {
			return false, err
		}
	}
	return !strict && answer.Encryption == tds.EncryptOff, nil
}

// startTLS performs the handshake, bare (strict) or inside PRELOGIN packets.
func (c *conn) startTLS(strict bool) error {
	cfg, err := c.srv.tlsConfig(strict)
	if err != nil {
		return err
	}
	// The client's packet size is not known yet.
	under := &tlsTransport{Conn: c.nc, in: c.in, out: tds.NewMessageWriter(c.nc, tds.MinPacketSize), wrapped: !strict}
	t := tls.Server(under, cfg)
	if err := t.HandshakeContext(c.ctx); err != nil {
		return fmt.Errorf("%w: tls handshake: %w", ErrClientGone, err)
	}
	under.wrapped = false
	c.setTransport(t, t)
	return nil
}

// sendLoginAck sends the answer to a successful login, in SQL Server's order.
func (c *conn) sendLoginAck(l *tds.Login, size int) error {
	if len(c.proof) > 0 {
		// A message of its own, as SQL Server sends it: go-mssqldb reads no further in it.
		if _, err := c.out.Write(tds.AppendSSPI(nil, c.proof)); err != nil {
			return err
		}
		if err := c.endReply(); err != nil {
			return err
		}
		c.beginReply()
	}
	database := c.session.Database()
	asked := l.PacketSize
	if asked == 0 {
		asked = tds.DefaultPacketSize
	}
	var b []byte
	b = tds.AppendDatabaseChange(b, database, "master")
	b = tds.AppendMessage(b, info(5701, 2, "Changed database context to '%s'.", database), pipeHost, c.version)
	b = tds.AppendCollationChange(b, types.CI)
	language := defaultLanguage
	if known := types.LanguageByName(l.Language); known != nil {
		language = known.Name
	} else if l.Language != "" {
		replaced := mserr.LoginLanguageReplaced(l.Language, language)
		replaced.Class, replaced.Line = 0, 1 // severity 10 becomes 0 before it is sent
		b = tds.AppendMessage(b, replaced, pipeHost, c.version)
	}
	var states []session.State
	if r, ok := c.session.(recoverable); ok && c.states != nil {
		language, states = r.Language(), r.States() // those of the session that the login continues, if any
	}
	b = tds.AppendLanguageChange(b, language, "")
	b = tds.AppendMessage(b, info(5703, 1, "Changed language setting to %s.", language), pipeHost, c.version)
	b = tds.AppendLoginAck(b, tds.LoginAck{Version: c.version, Program: "Microsoft SQL Server", Released: productVersion})
	if len(l.Features) > 0 {
		b = tds.AppendFeatureExtAck(b, l.Features, states)
	}
	b = tds.AppendPacketSizeChange(b, size, asked)
	// The new size is valid after this message. A client that asked for a smaller size may already
	// have a smaller buffer.
	c.out.SetPacketSize(min(size, tds.DefaultPacketSize))
	if _, err := c.out.Write(b); err != nil {
		return err
	}
	err := c.sendDone(0, 0)
	c.out.SetPacketSize(size)
	return err
}

// info makes an informational message, of class 0.
func info(number int32, state uint8, format string, args ...any) *mserr.Error {
	m := mserr.New(number, 0, format, args...)
	m.State, m.Line = state, 1
	return m
}
