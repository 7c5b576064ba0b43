package bounded

import (
	"fmt"
	"io"
)

// MaxFile is the most bytes of a file or of standard input that a command reads.
const MaxFile = 16 << 20

// SizeError says that a text is too long.
type SizeError struct {
	// Max is the limit, in bytes.
	Max int64
}

// Error implements error.
func (e *SizeError) Error() string {
	if e.Max >= 1<<20 && e.Max%(1<<20) == 0 {
		return fmt.Sprintf("it is too long: at most %d MB are read", e.Max>>20)
	}
	return fmt.Sprintf("it is too long: at most %d bytes are read", e.Max)
}

// Read reads all of r. It returns a *[SizeError] if r has more than limit bytes.
func Read(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &SizeError{limit}
	}
	return data, err
}
