package mssql

import (
	"errors"
	"strings"
	"sync"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets"
)

// errorReserve is how many errors are kept when there is no room for messages any more.
const errorReserve = 20

// firstFailing is the lowest severity that fails an attempt. Below it a message is information: PRINT
// has 0, warnings have 1 to 10 (SQL Server, "Database Engine error severities").
const firstFailing = 11

// The information messages that tell a client of a change which the script made on purpose.
const (
	changedDatabase = 5701 // "Changed database context to …"
	changedLanguage = 5703 // "Changed language setting to …"
)

// collector gathers the messages of one attempt. Safe for concurrent use.
type collector struct {
	limits targets.Limits

	mu      sync.Mutex
	kept    []targets.Message
	bytes   int
	dropped int
	spare   int // errors kept beyond the limits

	rows       int64
	firstError *mssqldb.Error // of severity 11 or more; its line is relative to the script
	lastError  *mssqldb.Error
}

// server takes an error or information message of a batch whose first line is number line of the script.
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
	}
	c.keep(m)
}

// affected takes a row count.
func (c *collector) affected(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows += n
	c.keep(targets.Message{Kind: targets.KindRows, Rows: n})
}

// remark takes a sentence of the agent.
func (c *collector) remark(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(targets.Message{Kind: targets.KindAgent, Text: text})
}

// keep adds a message if there is room. The lock is held.
func (c *collector) keep(m targets.Message) {
	m.Text = clip(strings.ToValidUTF8(m.Text, "\uFFFD"), c.limits.TextBytes)
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

// drop counts messages that did not even come here.
func (c *collector) drop(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped += n
}

// failure is the first error of severity 11 or more; nil when there was none.
func (c *collector) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.firstError == nil {
		return nil
	}
	return *c.firstError
}

// asServerError finds the server's error in err. Only errors with a number count: the driver makes
// some of its own without.
func asServerError(err error) (mssqldb.Error, bool) {
	var e mssqldb.Error
	ok := errors.As(err, &e) && e.Number != 0
	return e, ok
}
