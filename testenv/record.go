package testenv

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld"
)

// envRecord names the folder for the recorded T-SQL.
const envRecord = "JOBAGENT_RECORD_SQL"

// Recorder returns a fault function that records each distinct T-SQL text of the requests in the
// folder "sent" of the folder JOBAGENT_RECORD_SQL, and then calls next, which may be nil. Without
// the variable, Recorder returns next. TestSQLTexts of testenv/archtest selects the product's texts
// for .ci/bind.
func Recorder(next func(tsqld.Point) error) func(tsqld.Point) error {
	folder := os.Getenv(envRecord)
	if folder == "" {
		return next
	}
	folder = filepath.Join(folder, "sent")
	return func(p tsqld.Point) error {
		if p.Kind == tsqld.BeforeStatement {
			if err := record(folder, textOf(p)); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		return next(p)
	}
}

// textOf returns the T-SQL of a request: a batch, or the statement that a system procedure such as
// sp_executesql executes or prepares. It returns "" for calls of other procedures.
func textOf(p tsqld.Point) string {
	if p.Call == nil {
		return p.Request
	}
	place := map[string]int{"sp_executesql": 0, "sp_prepare": 2, "sp_prepexec": 2}
	i, ok := place[strings.ToLower(p.Call.Proc)]
	if !ok || i >= len(p.Call.Params) {
		return ""
	}
	text, _ := p.Call.Params[i].Value.(string)
	return text
}

// record writes a text to its file, unless the file exists.
func record(folder, text string) error {
	if text == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(folder, hex.EncodeToString(sum[:8])+".sql")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
