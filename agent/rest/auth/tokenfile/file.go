package tokenfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/targets/secretref/privatefile"
)

const (
	// maxFile bounds the size of a token file, in bytes: some 20,000 tokens.
	maxFile = 8 << 20
	// maxFaults bounds the faults that an error lists.
	maxFaults = 100
)

// limits bounds the values of a token file: each of a token has its bytes in memory, however short
// its text is.
var limits = bounded.JSON{Depth: 10, Values: 250_000}

// content is the JSON object in a token file.
type content struct {
	Tokens []Token `json:"tokens"`
}

// Read returns the tokens of a file. A file that does not exist has none; that is the state before
// the first token is made. The error lists all faults.
func Read(path string) ([]Token, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the token file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the token file: %w", err)
	}
	tokens, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	return tokens, nil
}

// decode parses the text of a token file.
func decode(text []byte) ([]Token, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if err := limits.CheckBytes(text); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var c content
	if err := dec.Decode(&c); err != nil {
		return nil, fmt.Errorf("want an object with tokens: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the object")
	}
	return c.Tokens, CheckAll("tokens", c.Tokens)
}

// CheckAll returns the faults of a list of tokens, at most some 100 of them. setting is how the
// list is called.
func CheckAll(setting string, tokens []Token) error {
	var errs []error
	seen := make(map[string]bool, len(tokens))
	for i, t := range tokens {
		if len(errs) >= maxFaults {
			errs = append(errs, fmt.Errorf("%s[%d] and the tokens after it were not checked", setting, i))
			break
		}
		for _, err := range t.faults() {
			errs = append(errs, fmt.Errorf("%s[%d]: %w", setting, i, err))
		}
		if seen[t.ID] {
			errs = append(errs, fmt.Errorf("%s[%d]: duplicate id %q", setting, i, t.ID))
		}
		seen[t.ID] = true
	}
	return errors.Join(errs...)
}

// Update changes a token file. Processes that do so at the same time wait for each other; readers
// see the old content or the new one. The file is readable by its owner only.
func Update(path string, change func([]Token) ([]Token, error)) error {
	unlock, err := privatefile.Lock(path + ".lock")
	if err != nil {
		return fmt.Errorf("lock the token file: %w", err)
	}
	defer unlock()
	tokens, err := Read(path)
	if err != nil {
		return err
	}
	if tokens, err = change(tokens); err != nil {
		return err
	}
	if tokens == nil {
		tokens = []Token{}
	}
	text, err := json.MarshalIndent(content{Tokens: tokens}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the token file: %w", err)
	}
	if err := privatefile.Replace(path, append(text, '\n')); err != nil {
		return fmt.Errorf("write the token file: %w", err)
	}
	return nil
}

// File is a token file that may change while it is used. It is safe for concurrent use.
type File struct {
	path string

	mu     sync.Mutex
	looked time.Time // when the file was last looked at
	state  fileState
	tokens map[string]Token // by ID
	err    error
}

// fileState tells versions of a file apart.
type fileState struct {
	changed time.Time
	size    int64
	info    fs.FileInfo // nil: there is no file
}

// same reports whether two states are those of the same version.
func (s fileState) same(other fileState) bool {
	if s.info == nil || other.info == nil {
		return s.info == nil && other.info == nil
	}
	return s.changed.Equal(other.changed) && s.size == other.size && os.SameFile(s.info, other.info)
}

// lookEvery is how long a change of the file may remain unnoticed.
const lookEvery = time.Second

// Open returns a token file. The error is that of its present content.
func Open(path string) (*File, error) {
	f := &File{path: path}
	_, _, err := f.Lookup("")
	return f, err
}

// Lookup returns the stored token with an ID, and whether there is one. While the file cannot be
// read or is faulty, it returns an error: tokens that were revoked in it must not live on.
func (f *File) Lookup(id string) (Token, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); f.looked.IsZero() || now.Sub(f.looked) >= lookEvery {
		f.refresh()
		f.looked = now
	}
	t, ok := f.tokens[id]
	return t, ok, f.err
}

// Tokens returns the stored tokens by ID, for checks.
func (f *File) Tokens() map[string]Token {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tokens
}

// refresh reads the file if it has changed. f.mu must be held.
func (f *File) refresh() {
	var state fileState
	info, err := os.Stat(f.path)
	switch {
	case err == nil:
		state = fileState{changed: info.ModTime(), size: info.Size(), info: info}
	case !errors.Is(err, fs.ErrNotExist):
		f.tokens, f.err = nil, fmt.Errorf("read the token file: %w", err)
		return
	}
	if !f.looked.IsZero() && f.err == nil && state.same(f.state) {
		return
	}
	tokens, err := Read(f.path)
	f.state, f.err, f.tokens = state, err, nil
	if err != nil {
		return
	}
	f.tokens = make(map[string]Token, len(tokens))
	for _, t := range tokens {
		f.tokens[t.ID] = t
	}
}
