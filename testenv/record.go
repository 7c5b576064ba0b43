package testenv

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld"
)

// envRecord names a folder for the texts that servers of tests are sent.
const envRecord = "JOBAGENT_RECORD_SQL"

// Recorder keeps each distinct T-SQL text that a server is sent in a file of the folder "sent" of the folder that JOBAGENT_RECORD_SQL names, and
// then asks next, which may be nil. Without the variable it is next. The texts of the product among them are bound by .ci/bind: see
// TestSQLTexts of testenv/archtest.
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

// textOf is the text of a request: a batch's, or what a system procedure such as sp_executesql is given to execute or prepare; "" for calls of other
// procedures, which carry none.
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

// record keeps a text, once.
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
