package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/textfile"
)

// ReadFile reads a text file, or standard input if the file is "-", as UTF-8. A byte order mark is
// dropped. A file in another encoding than UTF-8, or UTF-16 with a mark, is refused, and so is one
// of more than [bounded.MaxFile] bytes.
func ReadFile(file string, stdin io.Reader) ([]byte, error) {
	name := file
	from := stdin
	if file == "-" {
		name = "standard input"
	} else {
		opened, err := os.Open(file)
		if err != nil {
			return nil, exit.Usagef("%w", err)
		}
		defer opened.Close() // it was only read
		from = opened
	}
	data, err := bounded.Read(from, bounded.MaxFile)
	var long *bounded.SizeError
	switch {
	case errors.As(err, &long):
		return nil, exit.Usagef("%s: %w", name, err)
	case err != nil:
		return nil, exit.Usagef("%w", err)
	}
	return Decode(name, data)
}

// ReadText is ReadFile for callers that want a string.
func ReadText(file string, stdin io.Reader) (string, error) {
	text, err := ReadFile(file, stdin)
	return string(text), err
}

// Decode is ReadFile for data that was read already. The name is that of its source.
func Decode(name string, data []byte) ([]byte, error) {
	text, err := textfile.Decode(data)
	if err != nil {
		return nil, exit.Usagef("%s: %w", name, err)
	}
	return text, nil
}

// FaultError prints the faults of files, and returns the error that ends the command.
func FaultError(p *output.Printer, err error) error {
	var faults manifest.Faults
	if !errors.As(err, &faults) {
		return err
	}
	if len(faults) == 1 {
		return exit.Usage(faults)
	}
	const most = 100
	for i, f := range faults {
		if i == most {
			break
		}
		fmt.Fprintln(p.Stderr, output.OneLine(f.String()))
	}
	return exit.Usagef("%d faults in the files: nothing was changed", len(faults))
}

// SQL returns the text of a question: the argument SQL of a command, or the file of --file. A
// hyphen stands for standard input.
func SQL(args []string, file string, stdin io.Reader) (string, error) {
	switch {
	case len(args) > 0 && file != "":
		return "", exit.Usagef("give SQL or --file, not both")
	case len(args) > 0 && args[0] != "-":
		return args[0], nil
	case len(args) > 0:
		return ReadText("-", stdin)
	case file == "":
		return "", exit.Usagef("want the question: SQL, or --file")
	}
	return ReadText(file, stdin)
}
