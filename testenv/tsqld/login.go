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

// handshake is the login of a connection.
type handshake struct {
	c     *conn
	proof []byte // the server's answer to the ticket of an integrated login
}

// logIn performs the login, from the first byte to an open session.
func (hs *handshake) logIn() error {
	if err := hs.c.nc.SetDeadline(time.Now().Add(loginTime)); err != nil {
		return fmt.Errorf("limit login: %w", err)
	}
	plain, err := hs.negotiate()
	if err != nil {
		return err
	}
	h, payload, err := hs.readLogin(plain)
	hs.c.record(h, payload, err)
	if err != nil {
		return fmt.Errorf("%w: read login: %w", ErrClientGone, err)
	}
	if plain { // only the login was encrypted, if anything
		hs.c.setTransport(hs.c.in, hs.c.nc)
	}
	hs.c.beginReply()
	if h.Type != tds.PacketLogin7 {
		return &tds.FormatError{What: fmt.Sprintf("packet of type %#02x instead of a login", byte(h.Type))}
	}
	l, err := tds.ReadLogin(payload)
	if errors.Is(err, tds.ErrVersion) {
		hs.c.version = tds.Version71 // an older client is most likely to read this version's tokens
		return hs.refuse(mserr.NotSupported("a TDS version before 7.1"))
	}
	if err != nil {
		return err
	}
	hs.c.version = l.Version
	hs.c.multiple = hs.c.multiple && hs.c.version.Multiple()
	size := tds.ClampPacketSize(l.PacketSize, !plain)
	hs.c.login = login{User: l.User, Password: string(l.Password), Database: l.Database, Language: l.Language, App: l.App, Host: l.Host,
		Library: l.Library, PID: int(int32(l.PID)), Version: uint32(l.Version),
		PacketSize: size, ReadOnlyIntent: l.ReadOnlyIntent(), Encrypted: !plain, NewPassword: string(l.NewPassword),
		Windows: l.Integrated(), Multiple: hs.c.multiple,
		Local: hs.c.nc.LocalAddr(), Remote: hs.c.nc.RemoteAddr()}
	if err := hs.open(l); err != nil {
		return err
	}
	hs.c.srv.admission.remove(hs.c.pending)
	if s, ok := hs.c.session.(identified); ok {
		hs.c.out.SetSPID(uint16(s.SPID()))
	}
	if err := hs.c.nc.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("end login's limit: %w", err)
	}
	return hs.sendLoginAck(l, size)
}

// readLogin reads the message after PRELOGIN. With login-only encryption some clients encrypt only
// its first packet.
func (hs *handshake) readLogin(plain bool) (tds.Header, []byte, error) {
	first, payload, err := tds.ReadPacket(hs.c.src)
	for h := first; err == nil && !h.EOM(); {
		if plain {
			next, peekErr := hs.c.in.Peek(1)
			if peekErr == nil && tds.PacketType(next[0]) == tds.PacketLogin7 {
				hs.c.src = hs.c.in
			}
		}
		var more []byte
		if h, more, err = tds.ReadPacket(hs.c.src); err == nil {
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
func (hs *handshake) open(l *tds.Login) error {
	defer func() { hs.c.login.Password, hs.c.login.NewPassword = "", "" }()
	if err := hs.c.fault(hs.c.ctx, BeforeLogin, nil, 0); err != nil {
		return hs.refuseError(err)
	}
	switch {
	case hs.c.srv.cfg.RequireTLS && !hs.c.login.Encrypted:
		hs.refused(LoginFailure{Reason: reasonPlain})
		return hs.refuse(mserr.EncryptionRequired())
	case l.TooLong() != "":
		hs.refused(LoginFailure{Reason: reasonLong})
		return hs.refuse(mserr.InvalidLoginPacket())
	case l.Integrated():
		if err := hs.acceptTicket(l); err != nil {
			return err
		}
	case l.HasFeature(tds.FeatureFedAuth):
		return hs.refuse(mserr.NotSupported("authentication by a token"))
	case l.AttachFile != "":
		return hs.refuse(mserr.NotSupported("attaching a database file at login"))
	}
	user := hs.c.login.User
	if hs.c.login.Windows { // its failures must not lock out a SQL login of the same name
		user += "@" + hs.c.login.Realm
	}
	if err := hs.readRecovery(l); err != nil {
		hs.refused(LoginFailure{Reason: reasonRecovery + err.Error()})
		return hs.refuse(mserr.InvalidLoginPacket())
	}
	client := clientKey(hs.c.nc)
	locked, wait := hs.c.srv.lockout.check(client, user)
	if locked {
		// The error does not reveal whether the login exists and whether the password is right:
		// neither was checked.
		hs.refused(LoginFailure{Login: user, Reason: reasonLocked})
		hs.sleep(longestDelay)
		return hs.refuse(mserr.AccountLocked(user))
	}
	hs.sleep(wait)
	if !hs.c.srv.admission.addUser() {
		hs.refused(LoginFailure{Login: user, Reason: reasonFull})
		return hs.refuse(mserr.TooManyConnections(hs.c.srv.admission.maxUsers))
	}
	s, err := hs.c.srv.engine.open(hs.c.ctx, hs.c.login)
	if err == nil && l.LanguageRequired() && !knownLanguage(l.Language) {
		err = errors.Join(mserr.LoginLanguageRefused(l.Language), s.Close())
	}
	if err == nil {
		hs.c.admitted, hs.c.session = true, s
		if r, ok := s.(recoverable); ok && l.HasFeature(tds.FeatureSessionRecovery) {
			hs.c.states = tds.NewSessionStates(r.InitialStates(), r.States())
		}
		hs.c.srv.lockout.succeeded(client, user)
		return nil
	}
	hs.c.srv.admission.removeUser()
	hs.failedLogin(client, user, err)
	return hs.refuseError(err)
}

// readRecovery reads the data of the session that a login continues.
func (hs *handshake) readRecovery(l *tds.Login) error {
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
	hs.c.login.Recovery = &session.Recovery{Initial: part(r.Initial), Current: part(r.Current)}
	return nil
}

// knownLanguage reports whether a login can have the language; "" is the default.
func knownLanguage(name string) bool { return name == "" || types.LanguageByName(name) != nil }

// acceptTicket verifies the Kerberos ticket of a login with integrated authentication, and sets the
// name of its login. If it returns an error, the refusal has been sent: SQL Server tells the client
// 18452 for each fault of a ticket, and its log tells the reason (17806).
func (hs *handshake) acceptTicket(l *tds.Login) error {
	reason := reasonNoKeytab
	if hs.c.srv.tickets != nil {
		accepted, err := hs.c.srv.tickets.Accept(l.SSPI)
		if err == nil {
			hs.proof = accepted.Answer
			hs.c.login.User, hs.c.login.Realm, hs.c.login.Foreign = accepted.User, accepted.Realm, accepted.Foreign
			return nil
		}
		reason = "SSPI handshake failed: " + err.Error()
	}
	hs.refused(LoginFailure{Reason: reason})
	return hs.refuse(mserr.UntrustedDomain())
}

// failedLogin reports a failed login, and delays its answer if the name or the password was wrong.
// client is the [clientKey].
func (hs *handshake) failedLogin(client, user string, err error) {
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
		delay, f.Locked = hs.c.srv.lockout.failed(client, user)
	}
	hs.refused(f)
	hs.sleep(delay)
}

// refused reports a login that was refused.
func (hs *handshake) refused(f LoginFailure) {
	f.Address = hs.c.nc.RemoteAddr()
	hs.c.srv.failures.report(f)
}

// sleep waits until d has passed, or the connection or the server ends.
func (hs *handshake) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-hs.c.ctx.Done():
	case <-hs.c.srv.closing:
	}
}

// refuseError ends the login. It sends the client a *mserr.Error as it is and hides every other
// error.
func (hs *handshake) refuseError(err error) error {
	var m *mserr.Error
	if errors.As(err, &m) {
		return hs.refuse(m)
	}
	if errors.Is(err, ErrClose) || hs.c.ctx.Err() != nil {
		return err
	}
	hs.c.srv.report(err)
	return errors.Join(err, hs.refuse(mserr.Internal()))
}

// refuse sends the error and waits for the client to close the connection. Error 18456 follows the
// errors of a database that cannot be opened, as SQL Server sends and clients expect it, and that
// of an unknown language (18456 with state 17 in SQL Server's log: "Unable to determine the initial
// language and date format").
func (hs *handshake) refuse(m *mserr.Error) error {
	err := error(m)
	b := tds.AppendMessage(nil, m, pipeHost, hs.c.version)
	if m.Number == 4060 || m.Number == 4064 || m.Number == 4019 {
		b = tds.AppendMessage(b, mserr.LoginFailed(hs.c.login.User), pipeHost, hs.c.version)
	}
	if _, werr := hs.c.out.Write(b); werr != nil {
		return werr
	}
	if werr := hs.c.sendDone(tds.DoneError, 0); werr != nil {
		return werr
	}
	// No goroutine reads the connection yet, and the client has nothing to send but its close.
	if half, ok := hs.c.nc.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		if hs.c.nc.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(hs.c.in, maxLogin))
		}
	}
	return fmt.Errorf("login refused: %w", err)
}

// negotiate answers PRELOGIN and starts TLS. Afterwards c.src is the source of the login and c.out
// takes its answer. plain reports that nothing after the login is encrypted.
func (hs *handshake) negotiate() (plain bool, err error) {
	first, err := hs.c.in.Peek(1)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrClientGone, err)
	}
	strict := tds.PacketType(first[0]) == tds.TLSHandshake
	if strict {
		if err := hs.startTLS(true); err != nil {
			return false, err
		}
	} else if tds.PacketType(first[0]) != tds.PacketPrelogin {
		return true, nil // a client may omit PRELOGIN; logIn checks the type
	}
	h, payload, err := tds.ReadMessage(hs.c.src, maxLogin)
	hs.c.record(h, payload, err)
	if err != nil {
		return false, fmt.Errorf("%w: read prelogin: %w", ErrClientGone, err)
	}
	hs.c.pending.begun.Store(true)
	if h.Type != tds.PacketPrelogin {
		return false, &tds.FormatError{What: fmt.Sprintf("packet of type %#02x instead of a prelogin", byte(h.Type))}
	}
	asked, err := tds.ReadPrelogin(payload)
	if err != nil {
		return false, err
	}
	answer := tds.Prelogin{Version: [6]byte{16, 0, 0x03, 0xE8}, Encryption: asked.Encryption.Answer(hs.c.srv.cfg.RequireTLS),
		MARS: asked.MARS}
	if strict {
		answer.Encryption = tds.EncryptOn
	}
	hs.c.multiple = asked.MARS
	hs.c.beginReply()
	if _, err := hs.c.out.Write(tds.AppendPrelogin(nil, &answer)); err != nil {
		return false, err
	}
	if err := hs.c.endReply(); err != nil {
		return false, err
	}
	if answer.Encryption == tds.EncryptRequired && !asked.Encryption.Supported() {
		hs.refused(LoginFailure{Reason: reasonPlain})
		return false, fmt.Errorf("login refused: %s", reasonPlain)
	}
	if !strict && answer.Encryption != tds.EncryptNotSupported {
		if err := hs.startTLS(false); err != nil {
			return false, err
		}
	}
	return !strict && answer.Encryption == tds.EncryptOff, nil
}

// startTLS performs the handshake, bare (strict) or inside PRELOGIN packets.
func (hs *handshake) startTLS(strict bool) error {
	cfg, err := hs.c.srv.tlsConfig(strict)
	if err != nil {
		return err
	}
	// The client's packet size is not known yet.
	under := &tlsTransport{Conn: hs.c.nc, in: hs.c.in, out: tds.NewMessageWriter(hs.c.nc, tds.MinPacketSize), wrapped: !strict}
	t := tls.Server(under, cfg)
	if err := t.HandshakeContext(hs.c.ctx); err != nil {
		return fmt.Errorf("%w: tls handshake: %w", ErrClientGone, err)
	}
	under.wrapped = false
	hs.c.setTransport(t, t)
	return nil
}

// sendLoginAck sends the answer to a successful login, in SQL Server's order.
func (hs *handshake) sendLoginAck(l *tds.Login, size int) error {
	if len(hs.proof) > 0 {
		// A message of its own, as SQL Server sends it: go-mssqldb reads no further in it.
		if _, err := hs.c.out.Write(tds.AppendSSPI(nil, hs.proof)); err != nil {
			return err
		}
		if err := hs.c.endReply(); err != nil {
			return err
		}
		hs.c.beginReply()
	}
	database := hs.c.session.Database()
	asked := l.PacketSize
	if asked == 0 {
		asked = tds.DefaultPacketSize
	}
	var b []byte
	b = tds.AppendDatabaseChange(b, database, "master")
	b = tds.AppendMessage(b, info(5701, 2, "Changed database context to '%s'.", database), pipeHost, hs.c.version)
	b = tds.AppendCollationChange(b, hs.c.session.Collation())
	language := defaultLanguage
	if known := types.LanguageByName(l.Language); known != nil {
		language = known.Name
	} else if l.Language != "" {
		replaced := mserr.LoginLanguageReplaced(l.Language, language)
		replaced.Class, replaced.Line = 0, 1 // severity 10 becomes 0 before it is sent
		b = tds.AppendMessage(b, replaced, pipeHost, hs.c.version)
	}
	var states []session.State
	if r, ok := hs.c.session.(recoverable); ok && hs.c.states != nil {
		language, states = r.Language(), r.States() // those of the session that the login continues, if any
	}
	b = tds.AppendLanguageChange(b, language, "")
	b = tds.AppendMessage(b, info(5703, 1, "Changed language setting to %s.", language), pipeHost, hs.c.version)
	b = tds.AppendLoginAck(b, tds.LoginAck{Version: hs.c.version, Program: "Microsoft SQL Server", Released: productVersion})
	if len(l.Features) > 0 {
		b = tds.AppendFeatureExtAck(b, l.Features, states)
	}
	b = tds.AppendPacketSizeChange(b, size, asked)
	// The new size is valid after this message. A client that asked for a smaller size may already
	// have a smaller buffer.
	hs.c.out.SetPacketSize(min(size, tds.DefaultPacketSize))
	if _, err := hs.c.out.Write(b); err != nil {
		return err
	}
	err := hs.c.sendDone(0, 0)
	hs.c.out.SetPacketSize(size)
	return err
}

// info makes an informational message, of class 0.
func info(number int32, state uint8, format string, args ...any) *mserr.Error {
	m := mserr.New(number, 0, format, args...)
	m.State, m.Line = state, 1
	return m
}
