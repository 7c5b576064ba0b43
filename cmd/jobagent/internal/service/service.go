// Package service runs the program as a service of Windows: the service control manager ends it,
// and its log entries go to the event log Application. Elsewhere signals end the program, and
// systemd or a container's engine reads its standard error. A [Supervisor] tells systemd that the
// start is complete, and that the program is alive.
package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// Source is the name of the event source: events have the identifier EventID.
const (
	Source  = "jobagent"
	EventID = 1
)

// maxEvent is the greatest length of a string of an event in bytes. ReportEvent takes 31,839
// characters of UTF-16, of which a text has at most one a byte.
const maxEvent = 31_000

// ErrStopped is the cause of a context that the service control manager ended.
var ErrStopped = errors.New("the service control manager stops the service")

// Program is the program: it ends soon after ctx and returns an exit code. Lines that it writes to
// log are log entries in JSON, or texts.
type Program func(ctx context.Context, log io.Writer) (code int)

// eventLog is an event log of Windows.
type eventLog interface {
	Info(id uint32, text string) error
	Warning(id uint32, text string) error
	Error(id uint32, text string) error
}

// events writes each line as an event of the line's level. One goroutine may use it at a time; the
// program's logger sees to that.
type events struct {
	log  eventLog
	line []byte // that has not ended
}

// Write implements io.Writer. The event log refuses entries when it is full and may not overwrite;
// that is no reason to end the program.
func (e *events) Write(p []byte) (int, error) {
	e.line = append(e.line, p...)
	for {
		line, rest, ended := bytes.Cut(e.line, []byte("\n"))
		if !ended && len(e.line) < maxEvent {
			return len(p), nil
		}
		if len(line) > maxEvent {
			end := maxEvent
			for end > maxEvent-utf8.UTFMax && !utf8.RuneStart(line[end]) {
				end--
			}
			line, rest = e.line[:end], e.line[end:]
		}
		e.report(string(line))
		e.line = append([]byte(nil), rest...)
	}
}

// report writes one event.
func (e *events) report(line string) {
	var entry struct {
		Level string `json:"level"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil {
		entry.Level = "error" // "error: …" of the command line, or a text of the runtime
	}
	switch {
	case line == "":
	case entry.Level == "debug", entry.Level == "info":
		_ = e.log.Info(EventID, line)
	case entry.Level == "warn":
		_ = e.log.Warning(EventID, line)
	default:
		_ = e.log.Error(EventID, line)
	}
}
