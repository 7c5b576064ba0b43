package fleet

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

const (
	// maxMessage bounds a message of a client, in bytes.
	maxMessage = 4 << 20
	// edition is SERVERPROPERTY('EngineEdition') of a SQL Server.
	edition = 3
	// commandSelect is DONE's CurCmd of a SELECT.
	commandSelect = 0xC1
	// minBuffer is the smallest size of the read buffer, in bytes: a login fits.
	minBuffer = 1024
)

// version is that of SQL Server 2022, in the form of PRELOGIN and LOGINACK.
var version = [4]byte{16, 0, 0x03, 0xE8}

// conn is one connection. One goroutine serves it.
type conn struct {
	fleet    *Fleet
	nc       net.Conn
	in       *bufio.Reader
	out      *tds.MessageWriter
	version  tds.Version
	database string
	draw     *rand.Rand
	spid     uint16
}

func newConn(f *Fleet, nc net.Conn) *conn {
	return &conn{fleet: f, nc: nc, in: bufio.NewReaderSize(nc, minBuffer), out: tds.NewMessageWriter(nc, tds.DefaultPacketSize)}
}

// serve serves the connection until the client closes it or breaks the protocol. The reason is not
// reported: the client meets it as a lost connection.
func (c *conn) serve() {
	if !c.logIn() {
		return
	}
	for {
		h, payload, err := tds.ReadMessage(c.in, maxMessage)
		if err != nil {
			return
		}
		switch h.Type {
		case tds.PacketBatch:
			batch, err := tds.ReadBatch(payload, c.version)
			if err != nil || c.answer(batch.Text) != nil {
				return
			}
		case tds.PacketAttention: // it came when the answer was already on its way
			if c.attention() != nil {
				return
			}
		default: // the agent's own queries and scripts without parameters are batches
			return
		}
	}
}

// logIn reads PRELOGIN and LOGIN7, and reports whether the session is open.
func (c *conn) logIn() bool {
	h, payload, err := tds.ReadMessage(c.in, maxMessage)
	if err != nil {
		return false
	}
	if h.Type == tds.PacketPrelogin {
		answer := tds.Prelogin{Version: [6]byte(append(version[:], 0, 0)), Encryption: tds.EncryptNotSupported}
		if c.send(tds.AppendPrelogin(nil, &answer)) != nil {
			return false
		}
		if h, payload, err = tds.ReadMessage(c.in, maxMessage); err != nil {
			return false
		}
	}
	if h.Type != tds.PacketLogin7 {
		return false
	}
	l, err := tds.ReadLogin(payload)
	if err != nil {
		return false
	}
	c.version, c.database = l.Version, l.Database
	c.draw = c.fleet.draw(l.Database)
	if c.draw.Float64() < c.fleet.cfg.Refusals {
		c.fleet.refused.Add(1)
		b := tds.AppendMessage(nil, mserr.New(18456, 14, "Login failed for user '%s'.", l.User), c.fleet.HostName(), c.version)
		_ = c.send(c.done(b, tds.DoneError, 0)) // the connection ends in any case
		return false
	}
	c.spid = uint16(51 + c.draw.IntN(30_000))
	c.out.SetSPID(c.spid)
	size := tds.ClampPacketSize(l.PacketSize, false)
	var b []byte
	b = tds.AppendDatabaseChange(b, c.database, "master")
	b = tds.AppendCollationChange(b, types.CI)
	b = tds.AppendLanguageChange(b, "us_english", "")
	b = tds.AppendLoginAck(b, tds.LoginAck{Version: c.version, Program: "Microsoft SQL Server", Released: version})
	if len(l.Features) > 0 {
		b = tds.AppendFeatureExtAck(b, l.Features, nil)
	}
	b = tds.AppendPacketSizeChange(b, size, tds.DefaultPacketSize)
	return c.send(c.done(b, 0, 0)) == nil
}

// answer answers a batch: a query of the agent itself, or else a script.
func (c *conn) answer(text string) error {
	number := types.Type{ID: types.Int}
	name := types.NVarCharOf(128)
	const mine = int64(0) // no control schema, no right to enter a control database, no transaction
	server := c.fleet.HostName()
	switch {
	case strings.Contains(text, "may_enter_control") && strings.Contains(text, "engine_edition"):
		return c.rows([]types.Type{number, name, name, number, number, number},
			[]types.Value{int64(c.spid), server, c.database, mine, mine, int64(edition)})
	case strings.Contains(text, "may_enter_control"):
		return c.rows([]types.Type{name, number, number}, []types.Value{c.database, mine, mine})
	case strings.Contains(text, "source_database_id"):
		list := make([][]types.Value, c.fleet.cfg.Databases)
		for i := range list {
			list[i] = []types.Value{Name(i), nil, nil}
		}
		return c.rows([]types.Type{name, name, name}, list...)
	case strings.Contains(text, "SERVERPROPERTY('EngineEdition')"):
		return c.rows([]types.Type{number, name}, []types.Value{int64(edition), server})
	case strings.HasPrefix(text, "SELECT @@SPID"):
		return c.rows([]types.Type{number}, []types.Value{int64(c.spid)})
	case strings.HasPrefix(text, "SELECT @@TRANCOUNT"):
		return c.rows([]types.Type{number}, []types.Value{mine})
	}
	return c.script()
}

// script waits for the delay and ends the script. An attention ends the script at once.
func (c *conn) script() error {
	canceled, err := c.wait(c.fleet.delay(c.draw))
	switch {
	case err != nil:
		return err
	case canceled:
		if _, _, err := tds.ReadMessage(c.in, maxMessage); err != nil { // the attention
			return err
		}
		c.fleet.attentions.Add(1)
		return c.attention()
	}
	failed := c.draw.Float64() < c.fleet.cfg.Failures
	c.fleet.scripts.Add(1)
	if failed {
		c.fleet.failed.Add(1)
	}
	if c.fleet.cfg.OnScript != nil {
		c.fleet.cfg.OnScript(c.database, failed)
	}
	if failed {
		b := tds.AppendMessage(nil, mserr.New(50000, 16, "The stub fails."), c.fleet.HostName(), c.version)
		return c.send(c.done(b, tds.DoneError, 0))
	}
	return c.send(c.done(nil, tds.DoneCount, 1))
}

// wait waits until the time has passed, or the client sends something. The deadline of a read is
// the clock, so that no second goroutine is needed.
func (c *conn) wait(d time.Duration) (disturbed bool, err error) {
	if d <= 0 {
		return false, nil
	}
	if err := c.nc.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false, err
	}
	_, err = c.in.Peek(1)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, c.nc.SetReadDeadline(time.Time{})
	}
	if err != nil {
		return false, err
	}
	return true, c.nc.SetReadDeadline(time.Time{})
}

// attention acknowledges an attention.
func (c *conn) attention() error { return c.send(c.done(nil, tds.DoneAttention, 0)) }

// rows sends a result set.
func (c *conn) rows(columns []types.Type, rows ...[]types.Value) error {
	cols := make([]types.Column, len(columns))
	for i, t := range columns {
		cols[i] = types.Column{Name: "c", Type: t, Nullable: true}
	}
	e, err := tds.NewRowEncoder(cols, c.version)
	if err != nil {
		return err
	}
	b := e.AppendColMetadata(nil)
	for _, row := range rows {
		if b, err = e.AppendRow(b, row); err != nil {
			return err
		}
	}
	return c.send(c.done(b, tds.DoneCount, int64(len(rows))))
}

// done appends the DONE that ends an answer.
func (c *conn) done(b []byte, status tds.DoneStatus, rows int64) []byte {
	return tds.AppendDone(b, tds.DoneBatch, status, commandSelect, rows, c.version)
}

// send sends an answer as one message.
func (c *conn) send(b []byte) error {
	c.out.Begin(tds.PacketReply)
	if _, err := c.out.Write(b); err != nil {
		return err
	}
	return c.out.End()
}
