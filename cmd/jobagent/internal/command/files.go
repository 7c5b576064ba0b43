package command

import (
	"io"
	"os"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/textfile"
)

// ReadFile reads a text file, or standard input if the file is "-", as UTF-8. A byte order mark is
// dropped. A file in another encoding than UTF-8, or UTF-16 with a mark, is refused.
func ReadFile(file string, stdin io.Reader) ([]byte, error) {
	name := file
	var data []byte
	var err error
	if file == "-" {
		name = "standard input"
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
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
