package mssql

import (
	"errors"
	"strings"
	"sync"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// errorReserve is the number of errors that are kept beyond the limits.
const errorReserve = 20

// firstFailing is the lowest severity that fails an attempt. Messages below it are information:
// PRINT has 0, warnings have 1 to 10 (SQL Server, "Database Engine error severities").
const firstFailing = 11

// firstFatal is the lowest severity with which the server ends the session: "the client connection
// is terminated after receiving the message"
// (https://learn.microsoft.com/sql/t-sql/language-elements/raiserror-transact-sql).
const firstFatal = 20

// Information messages about a change that the script made on purpose. They are not kept.
const (
	changedDatabase = 5701 // "Changed database context to …"
	changedLanguage = 5703 // "Changed language setting to …"
)

// collector collects the messages of one attempt. Safe for concurrent use.
type collector struct {
	limits targets.Limits
	// heard is called with each information message, one after the other; nil drops them.
	heard func(targets.Message)

	mu    sync.Mutex
	kept  []targets.Message
	bytes int
	// reported is the number of bytes in reports.
	reported int
	dropped  int
	spare    int // errors kept beyond the limits

	rows       int64
	firstError *mssqldb.Error // of severity 11 or more; its line counts from the script's start
	lastError  *mssqldb.Error
}

// server adds an error or information message of a batch. line is the number of the batch's first
// line in the script.
func (c *collector) server(e mssqldb.Error, line int) {
	if e.Class < firstFailing && (e.Number == changedDatabase || e.Number == changedLanguage) {
		return
	}
	if e.ProcName == "" && e.LineNo > 0 {
		e.LineNo += int32(line - 1)
	}
	m := targets.Message{
		Kind: targets.KindInfo, Number: e.Number, Severity: e.Class, State: e.State, Line: e.LineNo,
		Procedure: e.ProcName, Server: e.ServerName, Text: e.Message,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Class >= firstFailing {
		m.Kind = targets.KindError
		e.All = nil
		if c.firstError == nil {
			c.firstError = &e
		}
		c.lastError = &e
	} else if c.heard != nil {
		c.heard(m)
		return
	}
	c.keep(m)
}

// affected adds a row count.
func (c *collector) affected(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows += n
	c.keep(targets.Message{Kind: targets.KindRows, Rows: n})
}

// remark adds a sentence of the agent.
func (c *collector) remark(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(targets.Message{Kind: targets.KindAgent, Text: text})
}

// add adds the report of a trial on a batch, or of a preflight, also beyond the limit of messages,
// because a script has few batches. A script with many batches reaches the limit of bytes.
func (c *collector) add(r targets.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := targets.Message{Kind: targets.KindAgent, Text: r.Text()}
	if c.reported += len(m.Text); c.reported > c.limits.MessageBytes {
		c.dropped++
		return
	}
	c.kept = append(c.kept, m)
}

// affectedRows returns the sum of the row counts so far.
func (c *collector) affectedRows() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows
}

// keep adds a message if the limits allow; c.mu must be held.
func (c *collector) keep(m targets.Message) {
	m.Text = wording.Clip(strings.ToValidUTF8(m.Text, "\uFFFD"), c.limits.TextBytes, wording.Bytes)
	if len(c.kept) >= c.limits.Messages || c.bytes+len(m.Text) > c.limits.MessageBytes {
		if m.Kind != targets.KindError || c.spare == errorReserve {
			c.dropped++
			return
		}
		c.spare++
	}
	c.bytes += len(m.Text)
	c.kept = append(c.kept, m)
}

// drop counts n messages that the guard did not pass on.
func (c *collector) drop(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped += n
}

// failure returns the first error of severity 11 or more, or nil.
func (c *collector) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.firstError == nil {
		return nil
	}
	return *c.firstError
}

// endedSession reports whether the server has ended the session with an error.
func (c *collector) endedSession() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastError != nil && c.lastError.Class >= firstFatal
}

// inDoubt reports whether a commit may have succeeded before the error that ended the session.
func (c *collector) inDoubt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastError != nil && inDoubt[c.lastError.Number]
}

// asServerError finds the server's error in err. Some errors of the driver have the same type; they
// have no number and do not count.
func asServerError(err error) (mssqldb.Error, bool) {
	var e mssqldb.Error
	ok := errors.As(err, &e) && e.Number != 0
	return e, ok
}
