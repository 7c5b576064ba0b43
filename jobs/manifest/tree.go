package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// folders are the folders of the kinds in a directory that [Files] describes.
var folders = map[Kind]string{
	KindTargetGroup: "target-groups", KindCalendar: "calendars", KindTargetWindow: "target-windows", KindAlertChannel: "alert-channels", KindJob: "jobs", KindLimit: "limits", KindAlert: "alerts",
}

// File is a file with its path in a directory, with slashes.
type File struct{ Path, Text string }

// Files returns objects as files: one for each object, with the scripts of steps beside it, and the
// schema for editors. comment returns what is said at the top of an object's file, and may be nil.
func Files(objects []Object, comment func(Object) string) []File {
	t := tree{used: map[string]bool{}}
	t.files = append(t.files, File{SchemaFile, string(Schema())})
	for _, o := range objects {
		text := ""
		if comment != nil {
			for line := range strings.Lines(comment(o)) {
				text += strings.TrimRight("# "+strings.TrimRight(line, "\r\n"), " ") + "\n"
			}
		}
		t.object(o, text)
	}
	return t.files
}

// tree collects the files of a directory.
type tree struct {
	used  map[string]bool // in lower case: some file systems do not tell cases apart
	files []File
}

func (t *tree) object(o Object, comment string) {
	folder := folders[o.Kind]
	name := t.unused(folder, FileName(o.Name()), ".yaml")
	if job, ok := o.Value.(*Job); ok {
		copied := *job
		copied.Steps = nil
		for i, s := range job.Steps {
			step := *s
			copied.Steps = append(copied.Steps, &step)
			if kind, text := s.CommandType(); kind == "TSql" {
				file := t.unused(path.Join(folder, name), fmt.Sprintf("%02d-%s", i+1, FileName(s.Name)), ".sql")
				t.files = append(t.files, File{path.Join(folder, name, file+".sql"), text})
				step.Command.File = path.Join(name, file+".sql")
			}
		}
		o.Value = &copied
	}
	t.files = append(t.files, File{path.Join(folder, name+".yaml"), "# yaml-language-server: $schema=../" + SchemaFile + "\n" + comment + YAML(o)})
}

// unused returns a name that no file has yet.
func (t *tree) unused(folder, name, ext string) string {
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s-%d", name, n)
		}
		if key := strings.ToLower(path.Join(folder, try+ext)); !t.used[key] {
			t.used[key] = true
			return try
		}
	}
}

// reserved matches an empty name, and those of devices of Windows, with any extension.
var reserved = regexp.MustCompile(`^(?i:CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])?(?:\..*)?$`)

// FileName makes the name of a file that all systems take, without an extension.
func FileName(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', r == '.' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 80 {
			break
		}
	}
	clean := strings.TrimRight(b.String(), "-.")
	if reserved.MatchString(clean) {
		return "object-" + clean
	}
	return clean
}

// FileChanges says what differs between files and a directory. The paths are sorted.
type FileChanges struct {
	New, Changed []string
	// Stale are files in the folders of the kinds that the files do not have: of objects that do
	// not exist any more, or written by somebody.
	Stale []string
}

// CompareFiles compares files with those of a directory, which need not exist. Stale files are
// those with the endings of definitions and scripts.
func CompareFiles(dir string, files []File) (c FileChanges, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		for _, f := range files {
			c.New = append(c.New, f.Path)
		}
		slices.Sort(c.New)
		return c, nil
	} else if err != nil {
		return c, err
	}
	defer root.Close() // it is only read
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.Path] = true
		switch old, err := root.ReadFile(f.Path); {
		case errors.Is(err, fs.ErrNotExist):
			c.New = append(c.New, f.Path)
		case err != nil:
			return c, err
		case !bytes.Equal(old, []byte(f.Text)):
			c.Changed = append(c.Changed, f.Path)
		}
	}
	for _, folder := range folders {
		err := fs.WalkDir(root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && entry.Type().IsRegular() && !wanted[name] && (path.Ext(name) == ".yaml" || path.Ext(name) == ".sql") {
				c.Stale = append(c.Stale, name)
			}
			return err
		})
		if err != nil {
			return c, err
		}
	}
	slices.Sort(c.New)
	slices.Sort(c.Changed)
	slices.Sort(c.Stale)
	return c, nil
}

// WriteFiles writes files into a directory, which is made if it does not exist, and removes others.
func WriteFiles(dir string, files []File, remove []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() // each file is closed by itself
	for _, f := range files {
		if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(f.Path, []byte(f.Text), 0o644); err != nil {
			return err
		}
	}
	for _, name := range remove {
		if err := root.Remove(name); err != nil {
			return err
		}
		_ = root.Remove(path.Dir(name)) // a folder that is empty now; others stay
	}
	return nil
}
