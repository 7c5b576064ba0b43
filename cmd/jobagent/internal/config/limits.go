package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/targets/mssql"
)

// Limits bounds what one target may send: see targets.AnswerLimits, which has the defaults.
type Limits struct {
	ValueBytes   ByteSize `json:"value_bytes"`   // of a value that goes to an output table
	RowBytes     ByteSize `json:"row_bytes"`     // of a row that goes to an output table
	OutputBytes  ByteSize `json:"output_bytes"`  // of all such rows of an attempt
	MessageBytes ByteSize `json:"message_bytes"` // of the text of one message
	Messages     int64    `json:"messages"`      // of an attempt
	ResultSets   int64    `json:"result_sets"`   // of an attempt
	AnswerBytes  ByteSize `json:"answer_bytes"`  // of all that an attempt gets
	BufferBytes  ByteSize `json:"buffer_bytes"`  // of memory for rows on their way to output tables, in all attempts together
}

// Limits gives them to package targets.
func (l Limits) Limits() mssql.AnswerLimits {
	return mssql.AnswerLimits{
		ValueBytes: int64(l.ValueBytes), RowBytes: int64(l.RowBytes), OutputBytes: int64(l.OutputBytes), MessageBytes: int64(l.MessageBytes),
		Messages: l.Messages, ResultSets: l.ResultSets, AnswerBytes: int64(l.AnswerBytes), BufferBytes: int64(l.BufferBytes),
	}
}

// What an agent needs beside rows of targets.
const (
	agentBytes  = 16 << 20
	workerBytes = 256 << 10 // two connections, their buffers and goroutines
)

// BoundHeap lets the garbage collector run so often that garbage of large rows does not double what the agent takes. It is a goal
// and no bound: what is in use stays. The environment variable GOMEMLIMIT wins.
func (l Limits) BoundHeap(workers int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(agentBytes + int64(cmp.Or(workers, 100))*workerBytes + l.Limits().Memory())
	}
}

// ByteSize reads a number of bytes ("16MB", "64KB", "1GB", or a number) from JSON.
type ByteSize int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *ByteSize) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	wrong := fmt.Errorf("invalid size %q: want a number of bytes, or a text such as \"16MB\" (KB, MB, GB)", text)
	digits, unit := text, int64(1)
	for i, suffix := range []string{"KB", "MB", "GB"} {
		if rest, ok := strings.CutSuffix(strings.ToUpper(text), suffix); ok {
			digits, unit = strings.TrimSpace(rest), 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > (1<<62)/unit {
		return wrong
	}
	*s = ByteSize(n * unit)
	return nil
}
