package drift

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Format is the member "format" of a file of a schema.
const Format = "jobagent-schema/1"

// File is a schema as a file has it: all that was read, so that each option can be used when it is
// compared.
type File struct {
	Format string `json:"format"`
	// Database is where the schema was read, for people.
	Database string `json:"database,omitempty"`
	// Permissions says that roles, their members and permissions were read.
	Permissions bool     `json:"permissions,omitempty"`
	Objects     []Object `json:"objects"`
}

// Sort puts the objects in the order of the file: that of building them.
func (f *File) Sort() {
	var o Options
	slices.SortFunc(f.Objects, func(x, y Object) int {
		return cmp.Or(compareKeys(o.identify(&x), o.identify(&y)), cmp.Compare(x.Name, y.Name))
	})
}

// ReadFile reads a schema.
func ReadFile(r io.Reader) (*File, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var f File
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	if f.Format != Format {
		return nil, fmt.Errorf("read a schema: format %q: want %q", f.Format, Format)
	}
	for i := range f.Objects {
		if f.Objects[i].Kind.rank() < 0 {
			return nil, fmt.Errorf("read a schema: unknown kind %q", f.Objects[i].Kind)
		}
	}
	return &f, nil
}

// addTo adds the objects of a file to an entry.
func (f *File) addTo(e *Entry) {
	for i := range f.Objects {
		e.Add(&f.Objects[i])
	}
}

// OfFile returns the schema of a file as the reference.
func (f *Fleet) OfFile(file *File) Reference {
	e := f.Begin()
	file.addTo(e)
	return f.Of(e)
}
