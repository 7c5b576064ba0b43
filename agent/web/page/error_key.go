package page

import (
	"fmt"
	"hash/fnv"
	"regexp"
)

// variable matches what differs between messages that say the same: quoted names, GUIDs, numbers,
// addresses, instants.
var variable = regexp.MustCompile(`'[^']*'|"[^"]*"|\x{201C}[^\x{201D}]*\x{201D}|\[[^\]]*\]|` +
	`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0[xX][0-9a-fA-F]+|` +
	`\d+(?:[.,:\-T]\d+)*`)

// keyLength is the number of bytes of a message that tell errors apart. Lists of errors have the
// beginnings of messages only.
const keyLength = 160

// ErrorKey returns the key of an error: the same for messages that say the same of different
// targets. Pages of runs are filtered by it, as the parameter "error". number is the error's
// number, or 0.
func ErrorKey(number int, message string) string {
	text := variable.ReplaceAllStringFunc(message, func(part string) string {
		switch part[0] {
		case '\'', '"', '[':
			return part[:1] + "…" + part[len(part)-1:]
		case '\xe2':
			return "“…”"
		}
		return "#"
	})
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%d\x00%s", number, text[:min(len(text), keyLength)]) // a hash does not fail
	return fmt.Sprintf("%016x", hash.Sum64())
}
