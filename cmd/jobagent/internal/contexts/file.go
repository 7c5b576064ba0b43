package contexts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/secretref/privatefile"
)

// Environment variables.
const (
	EnvFile    = "JOBAGENT_CONTEXTS" // path of the file; os.DevNull: there are no contexts
	EnvContext = "JOBAGENT_CONTEXT"  // name of the context to use
)

// File is the file with the contexts.
type File struct {
	// Current is the name of the context that commands use by default; empty: none.
	Current  string    `yaml:"current,omitempty"`
	Contexts []Context `yaml:"contexts"`
}

// maxFile bounds the size of the file.
const maxFile = 1 << 20

// header begins the file.
const header = `# Contexts of jobagent: connections by name. There is no password in this file; "password" says where it is.
# jobagent context --help
`

// Path returns the path of the file; empty means that there are no contexts.
func Path() (string, error) {
	switch path := os.Getenv(EnvFile); path {
	case "":
	case os.DevNull:
		return "", nil
	default:
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil //nolint:nilerr // a user without a home, such as a service, has no contexts
	}
	return filepath.Join(dir, "jobagent", "contexts.yaml"), nil
}

// Read reads the file. A file that does not exist has no contexts.
func Read() (File, error) {
	path, err := Path()
	if err != nil || path == "" {
		return File{}, err
	}
	return read(path)
}

// read reads and checks a file.
func read(path string) (f File, err error) {
	text, err := readTrusted(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, exit.Usagef("contexts in %s: %w", path, reason(err))
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return f, exit.Usagef("contexts in %s: %s", path, firstLine(err))
	}
	for i, c := range f.Contexts {
		if err := c.Check(); err != nil {
			return f, exit.Usagef("contexts in %s: %w", path, err)
		}
		if slices.IndexFunc(f.Contexts, func(other Context) bool { return strings.EqualFold(other.Name, c.Name) }) < i {
			return f, exit.Usagef("contexts in %s: the name %s is there twice", path, c.Name)
		}
	}
	if f.Current != "" {
		if _, err := f.Get(f.Current); err != nil {
			return f, exit.Usagef("contexts in %s: the current context is not in the list", path)
		}
	}
	return f, nil
}

// readTrusted reads a file that nobody but its owner, who is the user or the system's, may write:
// who writes it chooses where passwords are sent.
func readTrusted(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat() // of what is read, whatever stands there now
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(checkTrusted(filepath.Dir(path), dir), checkTrusted(path, info)); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	return text, err
}

// checkTrusted refuses a file or directory that other users may write. On Windows these have access
// lists instead; those of the profile are private.
func checkTrusted(path string, info fs.FileInfo) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	const othersWrite = 0o022
	shared := info.IsDir() && info.Mode()&fs.ModeSticky != 0 // such as /tmp: only owners replace its files
	if mode := info.Mode(); mode.Perm()&othersWrite != 0 && !shared {
		return fmt.Errorf("other users may write %s (mode %#o): chmod go-w", path, mode.Perm())
	}
	if !ownedByUser(info) {
		return fmt.Errorf("%s belongs to another user", path)
	}
	return nil
}

// reason removes the path, which the message has already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// firstLine returns the first line of an error of the YAML library, whose other lines show the
// file.
func firstLine(err error) string {
	line, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
	return line
}

// Update reads the file, calls change, and writes the file if change returns no error. No other
// process changes the file meanwhile, and readers see the file before or after, never between.
func Update(change func(*File) error) error {
	path, err := Path()
	if err != nil {
		return err
	}
	if path == "" {
		return exit.Usagef("contexts have no file: set %s to the path of a file, or HOME", EnvFile)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return exit.Usagef("directory of the contexts: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved // a link stays a link
	}
	unlock, err := privatefile.Lock(path + ".lock")
	if err != nil {
		return exit.Usagef("lock the contexts in %s: %w", path, reason(err))
	}
	defer unlock()
	f, err := read(path)
	if err != nil {
		return err
	}
	if err := change(&f); err != nil {
		return err
	}
	text, err := yaml.Marshal(f)
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := privatefile.Replace(path, append([]byte(header), text...)); err != nil {
		return fmt.Errorf("write the contexts in %s: %w", path, reason(err))
	}
	return nil
}

// index returns the position of a context, or -1. Case does not distinguish names.
func (f *File) index(name string) int {
	return slices.IndexFunc(f.Contexts, func(c Context) bool { return strings.EqualFold(c.Name, name) })
}

// Get returns a context.
func (f *File) Get(name string) (Context, error) {
	if err := CheckName(name); err != nil {
		return Context{}, err
	}
	if i := f.index(name); i >= 0 {
		return f.Contexts[i], nil
	}
	if len(f.Contexts) == 0 {
		return Context{}, exit.With(exit.CodeNotFound, fmt.Errorf("context %s does not exist: no context exists; jobagent context add makes one", name))
	}
	return Context{}, exit.With(exit.CodeNotFound, fmt.Errorf("context %s does not exist; there are %s", name, strings.Join(f.Names(), ", ")))
}

// Names returns the names in order.
func (f *File) Names() []string {
	names := make([]string, 0, len(f.Contexts))
	for _, c := range f.Contexts {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// Put adds a context, or replaces the one of the same name if that is wanted.
func (f *File) Put(c Context, replace bool) error {
	if err := c.Check(); err != nil {
		return err
	}
	// Only here: a certificate that is missing later must not make the other contexts unusable.
	if _, err := mssql.ParseDSN(c.URL("")); err != nil {
		return exit.Usagef("context %s: %w", c.Name, err)
	}
	i := f.index(c.Name)
	switch {
	case i < 0:
		f.Contexts = append(f.Contexts, c)
	case !replace:
		return exit.With(exit.CodeConflict, fmt.Errorf("context %s exists already; jobagent context update changes it", f.Contexts[i].Name))
	default:
		c.Name = f.Contexts[i].Name
		f.Contexts[i] = c
	}
	return nil
}

// Remove removes a context and returns it.
func (f *File) Remove(name string) (Context, error) {
	c, err := f.Get(name)
	if err != nil {
		return c, err
	}
	f.Contexts = slices.Delete(f.Contexts, f.index(name), f.index(name)+1)
	if strings.EqualFold(f.Current, name) {
		f.Current = ""
	}
	return c, nil
}

// Rename gives a context another name. It stays the current one if it was.
func (f *File) Rename(name, to string) error {
	c, err := f.Get(name)
	if err != nil {
		return err
	}
	if err := CheckName(to); err != nil {
		return err
	}
	i := f.index(name)
	if other := f.index(to); other >= 0 && other != i {
		return exit.With(exit.CodeConflict, fmt.Errorf("context %s exists already", f.Contexts[other].Name))
	}
	if strings.EqualFold(f.Current, c.Name) {
		f.Current = to
	}
	f.Contexts[i].Name = to
	return nil
}
