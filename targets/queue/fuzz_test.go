package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// What is kept of an endpoint's answer takes a bounded time and memory to decode.
func TestHostileAnswers(t *testing.T) { //nolint:paralleltest // it measures
	bounds.Check(t, bounds.XML(maxAnswer, func(text string) error {
		_ = parseStorageFault(text)
		_, err := parseStorageAnswer(text)
		return err
	}))
	inner := func(text string) error {
		_ = parseStorageFault("<Error><Message>" + text + "</Message></Error>")
		_, err := parseStorageAnswer("<QueueMessagesList>" + text + "</QueueMessagesList>")
		return err
	}
	bounds.Check(t, append(bounds.XML(maxAnswer-100, inner), bounds.Cases(map[string]string{
		"messages": bounds.Repeat("<QueueMessage/>", maxAnswer/15-10),
	}, inner)...))
}

// What a peer of AMQP sends takes a bounded time and memory, however its frames are cut, and so
// does a token for a queue. A stream has no limit, so a hundred times that of an answer stands for
// it.
func TestHostileFrames(t *testing.T) { //nolint:paralleltest // it measures
	const size = 100 * maxAnswer
	read := func(cut int) func(text string) error {
		return func(text string) error {
			r := frameReader{limit: maxRead}
			for rest := []byte(text); len(rest) > 0; {
				n := min(cut, len(rest))
				r.feed(rest[:n], func(code byte, body []byte) {
					_, reason := settlement(code, body)
					_ = reason.String()
					_ = hasMore(body)
				})
				rest = rest[n:]
			}
			return nil
		}
	}
	fill := func(part []byte) string { return bounds.Repeat(string(part), size/len(part)) }
	nested := bytes.Repeat([]byte{0, 0x53, performDisposition, 0xC0, 255, 255}, maxRead/6)
	text := append([]byte{0, 0x53, performClose, 0xD0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1, 0, 0x53, typeError, 0xD0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 2,
		0xB3, 0xFF, 0xFF, 0xFF, 0xFF}, bytes.Repeat([]byte{'x'}, maxRead)...)
	frames := map[string]string{
		"frames without a body": fill(frame(0)),
		"protocol headers":      fill([]byte("AMQP\x00\x01\x00\x00")),
		"dispositions":          fill(frame(0, dispositions["wide integers"]...)),
		"nested descriptors":    fill(frame(0, nested...)),
		"lists of nulls":        fill(frame(0, append([]byte{0, 0x53, performDisposition, 0xD0, 0, 0, 16, 0, 0, 0, 16, 0}, bytes.Repeat([]byte{0x40}, maxRead)...)...)),
		"reasons without end":   fill(frame(0, text...)),
		"one frame":             "\xFF\xFF\xFF\xFF\x02\x00\x00\x00" + bounds.Repeat("x", size),
		"a long header":         "\xFF\xFF\xFF\xFF\xFF\x00\x00\x00" + bounds.Repeat("x", size),
		"zeros":                 bounds.Repeat("\x00", size),
	}
	for _, cut := range []int{1, 4 << 10, size} {
		bounds.Check(t, bounds.Cases(frames, read(cut)))
	}
	bounds.Check(t, bounds.Cases(map[string]string{
		"pairs":       bounds.Repeat("a=b&", maxAnswer/4),
		"signatures":  bounds.Repeat("sig=a&", maxAnswer/6),
		"other names": numbered("a%d=b&", maxAnswer),
		"escapes":     "sig=" + bounds.Repeat("%2B", maxAnswer/3),
		"no pairs":    bounds.Repeat("&", maxAnswer),
		"blanks":      bounds.Repeat(" ", maxAnswer),
	}, func(text string) error { _, err := parseStorageSAS(text); return err }))
	bounds.Check(t, bounds.Cases(map[string]string{
		"texts":    bounds.Repeat("x", maxAnswer),
		"controls": bounds.Repeat("\x01", maxAnswer),
		"astral":   bounds.Repeat("😀", maxAnswer/4),
	}, func(text string) error {
		_ = brokerProperties(action.BrokerProperties{Label: text, SessionID: text, MessageID: text})
		return nil
	}))
}

// numbered returns a text of about [bounds.Size](size) bytes that repeats a format with numbers.
func numbered(format string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < bounds.Size(size); i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// FuzzStorageAnswer decodes arbitrary answers. What is kept of them is short and on one line.
func FuzzStorageAnswer(f *testing.F) {
	f.Add(recordedAnswer)
	f.Add("<Error><Code>QueueNotFound</Code><Message>a\nb</Message></Error>")
	f.Add(`<!DOCTYPE a [<!ENTITY b "c">]><QueueMessagesList><QueueMessage><MessageId>&b;</MessageId></QueueMessage></QueueMessagesList>`)
	f.Fuzz(func(t *testing.T, body string) {
		var m storageAnswer
		var err error
		var fault storageFault
		bounds.Allocations(t, len(body), 256<<10, 2000, func() {
			m, err = parseStorageAnswer(body)
			fault = parseStorageFault(body)
		})
		if err == nil && m.MessageID == "" {
			t.Error("an answer without a message is accepted")
		}
		for _, text := range []string{m.MessageID, m.InsertionTime, m.ExpirationTime, m.TimeNextVisible, fault.Code, fault.Message} {
			if len(text) > 510 || strings.ContainsAny(text, "\r\n\x00") || !utf8.ValidString(text) {
				t.Errorf("kept %q", text)
			}
		}
	})
}

// FuzzBrokerProperties encodes arbitrary properties: the header is printable ASCII, and decodes to
// them.
func FuzzBrokerProperties(f *testing.F) {
	f.Add("label", "session")
	f.Add("\"\\\r\n\x00", "😀\xff\u2028")
	f.Fuzz(func(t *testing.T, label, session string) {
		var header string
		bounds.Allocations(t, len(label)+len(session), 64<<10, 400, func() {
			header = brokerProperties(action.BrokerProperties{Label: label, SessionID: session})
		})
		require.Equal(t, header, strings.Map(printable, header))
		var decoded struct{ Label, SessionID string }
		require.NoError(t, json.Unmarshal([]byte(strings.Replace(header, `"SessionId":`, `"SessionID":`, 1)), &decoded))
		require.Equal(t, string([]rune(label)), decoded.Label)
		require.Equal(t, string([]rune(session)), decoded.SessionID)
	})
}

// FuzzStorageSAS parses arbitrary tokens. A token that is accepted is a query as it stands, and its
// signature is known to the mask.
func FuzzStorageSAS(f *testing.F) {
	for _, seed := range []string{"?sv=2019-02-02&sp=a&sig=a%2Bb%3D", "sig=a+b=&sp=raup", "sig=%&x", "https://a/?sig=b", "sig=a#b", "sig=;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		var s storageSAS
		var err error
		bounds.Allocations(t, len(token), 64<<10, 400, func() { s, err = parseStorageSAS(token) })
		if err != nil {
			return
		}
		u, err := url.Parse("https://a.example/q/messages?" + s.query)
		require.NoError(t, err)
		require.Equal(t, s.query, u.RawQuery)
		require.Empty(t, u.Fragment)
		require.Contains(t, s.secrets, u.Query().Get("sig"))
	})
}

// FuzzFrames reads an arbitrary stream in two ways of cutting it: the performatives are the same.
func FuzzFrames(f *testing.F) {
	for _, body := range dispositions {
		f.Add(append([]byte("AMQP\x00\x01\x00\x00"), frame(0, body...)...), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		read := func(size int) (codes []byte) {
			r := frameReader{limit: maxRead}
			for rest := stream; len(rest) > 0; {
				n := min(max(size, 1), len(rest))
				r.feed(rest[:n], func(code byte, body []byte) {
					state, reason := settlement(code, body)
					codes = append(append(codes, code, state), reason.String()...)
					if hasMore(body) {
						codes = append(codes, 1)
					}
				})
				rest = rest[n:]
			}
			return codes
		}
		var whole []byte
		bounds.Allocations(t, len(stream), 256<<10, 400, func() { whole = read(len(stream)) })
		require.Equal(t, whole, read(size))
	})
}
