package mssql

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/jobs/wording"
)

// Cancellation of a script. When the attempt's context ends, the driver sends an attention. The
// server acknowledges it (DONE with DONE_ATTN) when the request has ended, and an answer to SELECT
// @@SPID on the same connection proves that the session is free. Without an acknowledgment or an
// answer, a second connection, the witness, looks for the session before the first connection is
// cut. The session disappears as soon as the server detects the lost connection. A session that
// still exists after killAfter is ended with KILL.
//
// An absent session has ended only if the same witness has seen it before. A server may show a
// login only its own session, whatever HAS_PERMS_BY_NAME returns; a server may cut program_name;
// and behind a listener, a balancer, or a name with several addresses, the witness may be on
// another server. In each of these cases the end is not known (I8).
const (
	// ackWait is the time for a canceled session to acknowledge before its connection is cut.
	// SqlClient also gives a server 5 s to answer an attention. A server that is only slow has
	// received the attention by then, and the witness finds that the session has ended.
	ackWait = 5 * time.Second
	// answerWait is the time for a session that has acknowledged to answer SELECT @@SPID.
	answerWait = 2 * time.Second
	// cutWait is the time for the witness to find the session before the connection is cut. It is
	// short, because a script whose term is lost must end before another agent runs it.
	cutWait = 3 * time.Second
	// killAfter is the time for a session to end after the cut of its connection; then KILL is
	// sent.
	killAfter = 3 * time.Second
	// endLimit bounds all work of the witness, so that a frozen server does not hold a worker.
	endLimit = 15 * time.Second
	// endLogin bounds the login of the witness. It is shorter than endLimit, so that the message
	// names a login without an answer as the reason.
	endLogin = 10 * time.Second
	// minPoll and maxPoll are the shortest and the longest time between two looks at the session.
	minPoll, maxPoll = 50 * time.Millisecond, time.Second
)

// ending describes the end of a canceled request.
type ending struct {
	// verified means that the server has ended the request.
	verified bool
	// text describes the end of the request, or why it is not known. It follows a semicolon and has
	// no full stop.
	text string
}

// newToken returns a token that identifies the session of an attempt. The token is part of
// program_name, as the job step is in SQL Server Agent's sessions. Session IDs are reused and a
// login time is known to the server only, while the token costs no round trip.
func newToken() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}

// programName returns the program_name of a session: the application, the token, and a description
// of the attempt. The token comes early, so that it is visible also if a server shows fewer than
// the 128 characters of sys.dm_exec_sessions. The length is in units of UTF-16, and a server
// refuses a login with a longer name.
func programName(app, token, description string) string {
	const most, tokenLength = 128, 2 * 8
	name := wording.Head(app, most-1-tokenLength, wording.UTF16) + " " + token
	if description != "" {
		name += " " + description
	}
	return wording.Head(name, most, wording.UTF16)
}

// confirmEnd makes sure that the server ends the request of a canceled attempt, and returns the
// evidence. acknowledged means that the driver has read the server's acknowledgment. confirmEnd
// cuts the connection of a session that does not answer.
func (t *attempt) confirmEnd(ctx context.Context, s *session, acknowledged bool) ending {
	ctx = context.WithoutCancel(ctx) // ctx has ended already
	if acknowledged {
		id, err := s.answers(ctx)
		if err == nil {
			t.spid = id
			return ending{true, "the script was canceled on the server"}
		}
	}
	t.spid = s.spid()
	const cut = "the server did not confirm in time that it canceled the script, and the connection was cut; "
	limited, cancel := context.WithTimeoutCause(ctx, endLimit, fmt.Errorf("no end within %s", endLimit))
	defer cancel()
	killed, err := t.endSession(limited, s)
	name := "the session"
	if t.spid != 0 {
		name = fmt.Sprintf("session %d", t.spid)
	}
	switch {
	case err != nil:
		return ending{false, cut + "whether " + name + " has ended is not known: " + err.Error()}
	case killed:
		return ending{true, cut + name + " was ended with KILL"}
	default:
		return ending{true, cut + name + " has ended"}
	}
}

// answers asks a session that has acknowledged for its ID, and waits at most answerWait.
func (s *session) answers(ctx context.Context) (id int, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	defer cutAfter(ctx, s.wire, 0)()
	return s.number(ctx, "SELECT @@SPID")
}

// endSession cuts the connection of a session, and polls on a second connection, the witness, until
// the session has ended. It kills the session after killAfter. The error is the reason why the end
// of the session is not known.
func (t *attempt) endSession(ctx context.Context, s *session) (killed bool, err error) {
	cut := sync.OnceFunc(s.discard)
	defer cut()
	latest := time.AfterFunc(cutWait, cut)
	defer latest.Stop()

	login, cancel := context.WithTimeoutCause(ctx, endLogin, ErrLoginTimeout)
	defer cancel()
	witness, err := t.servers.open(login, t.Target.Server, t.Target.Database, t.Credential)
	if err != nil {
		return false, causeOr(ctx, err)
	}
	defer witness.close()
	defer cutAfter(ctx, witness.wire, 0)()
	var refused error
	seen := false // the witness has seen the session, so its absence proves its end
	began := time.Now()
	for wait := minPoll; ; wait = min(2*wait, maxPoll) {
		id, err := witness.find(ctx, s.token)
		cut() // the witness has looked once while the connection was open
		switch {
		case err != nil:
			return killed, causeOr(ctx, fmt.Errorf("look at it: %w", err))
		case id != 0:
			t.spid, seen = id, true
		case seen:
			return killed, nil
		default:
			return false, errNotSeen
		}
		if time.Since(began) >= killAfter && !killed && refused == nil {
			if refused = witness.kill(ctx, s.token); refused == nil {
				killed, wait = true, minPoll
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			switch {
			case refused != nil:
				return false, fmt.Errorf("it is still there, and KILL was refused: %w; grant the login ALTER ANY CONNECTION "+
					"(Azure SQL Database: KILL DATABASE CONNECTION), or end it by hand", refused)
			case killed:
				return true, errors.New("it is still there after KILL, rolling back or out of the server's reach")
			}
			return false, context.Cause(ctx)
		}
	}
}

// errNotSeen means that the witness has never found the session.
var errNotSeen = errors.New("a second connection did not find it, which proves nothing: " +
	"the login may not see other sessions (grant it VIEW SERVER STATE; SQL Server 2022 and later: VIEW SERVER PERFORMANCE STATE, " +
	"Azure SQL Database: VIEW DATABASE STATE), " +
	"the server's name may lead to several servers, or the session was lost before")

// find looks for the session with a token and returns its ID; 0 means that it was not found. The
// login is not compared, because EXECUTE AS in a script may have changed it.
func (s *session) find(ctx context.Context, token string) (id int, err error) {
	var row [1]driver.Value
	err = s.row(ctx, "SELECT MAX(CONVERT(INT, s.session_id)) FROM sys.dm_exec_sessions AS s WHERE "+hasToken(token)+";", row[:])
	if err != nil {
		return 0, err
	}
	switch n := row[0].(type) {
	case nil:
		return 0, nil
	case int64:
		return int(n), nil
	default:
		return 0, fmt.Errorf("the answer to a query of the agent is a %T, want an integer", n)
	}
}

// kill ends the session with a token, if it still exists. KILL takes neither a variable nor a
// condition. The ID is looked up in the same batch, so that a session which reuses the ID is not
// killed. KILL requires ALTER ANY CONNECTION, on Azure SQL Database KILL DATABASE CONNECTION
// (https://learn.microsoft.com/sql/t-sql/language-elements/kill-transact-sql, "Permissions").
func (s *session) kill(ctx context.Context, token string) error {
	err := s.exec(ctx, `DECLARE @kill NVARCHAR(20) = (
    SELECT N'KILL ' + CONVERT(NVARCHAR(11), MAX(s.session_id)) FROM sys.dm_exec_sessions AS s WHERE `+hasToken(token)+`
);
IF @kill IS NOT NULL
    EXECUTE (@kill);`)
	if e, ok := asServerError(err); ok && e.Number == noSuchSession {
		return nil // it ended in the meantime
	}
	return err
}

// noSuchSession is "Process ID %d is not an active process ID."
const noSuchSession = 6106

// hasToken returns the condition for a row s of sys.dm_exec_sessions. A token consists of
// hexadecimal digits.
func hasToken(token string) string {
	return "s.program_name LIKE N'% " + token + "%' AND s.session_id <> @@SPID"
}

// endText describes the end of a stopped script, as the second half of a sentence.
func (t *attempt) endText() string {
	if !t.sent {
		return "the script had not been sent."
	}
	return strings.TrimSuffix(t.ending.text, ".") + "."
}

// cutAfter cuts the wire unless the returned function is called within grace after ctx ended.
func cutAfter(ctx context.Context, w *wire, grace time.Duration) func() {
	if w == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			w.abort()
		}
	})
	return func() {
		close(done)
		stop()
	}
}
