package smp

import (
	"encoding/binary"
	"errors"
	"os"
)

// spoolMemory is how many bytes of packets a spool keeps in memory. The rest goes to a file, as
// results in tempdb do.
const spoolMemory = 64 << 10

// spoolFile is the size in bytes from which on a spool's file takes no more packets before it is
// read to its end.
const spoolFile = 4 << 30

// spool is a queue of packets. It is not safe for concurrent use.
type spool struct {
	recent [][]byte // the oldest packets, in memory
	size   int      // of recent, in bytes

	file       *os.File // the newer packets, each after its length in 4 bytes; nil for none
	from, upto int64    // the part of file with packets that were not read
}

// empty reports whether there is no packet.
func (q *spool) empty() bool { return len(q.recent) == 0 && q.from == q.upto }

// full reports whether the file is as large as limit.
func (q *spool) full(limit int64) bool { return q.upto >= limit }

// push appends a copy of a packet.
func (q *spool) push(p []byte) error {
	if q.from == q.upto && q.size+len(p) <= spoolMemory {
		q.recent = append(q.recent, append([]byte(nil), p...))
		q.size += len(p)
		return nil
	}
	if q.file == nil {
		f, err := os.CreateTemp("", "tsqld-results-*")
		if err != nil {
			return err
		}
		q.file = f
	}
	record := append(binary.LittleEndian.AppendUint32(nil, uint32(len(p))), p...)
	n, err := q.file.WriteAt(record, q.upto)
	if err != nil {
		return err
	}
	q.upto += int64(n)
	return nil
}

// pop removes the oldest packet. The queue must not be empty.
func (q *spool) pop() ([]byte, error) {
	if len(q.recent) > 0 {
		p := q.recent[0]
		q.recent[0] = nil
		q.recent = q.recent[1:]
		q.size -= len(p)
		return p, nil
	}
	var length [4]byte
	if _, err := q.file.ReadAt(length[:], q.from); err != nil {
		return nil, err
	}
	p := make([]byte, binary.LittleEndian.Uint32(length[:]))
	if _, err := q.file.ReadAt(p, q.from+int64(len(length))); err != nil {
		return nil, err
	}
	if q.from += int64(len(length) + len(p)); q.from < q.upto {
		return p, nil
	}
	q.from, q.upto = 0, 0
	return p, q.file.Truncate(0)
}

// close discards the packets and removes the file.
func (q *spool) close() error {
	f := q.file
	*q = spool{}
	if f == nil {
		return nil
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
