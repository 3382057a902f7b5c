// Package bulk sends statements over whole columns of values: each parameter is a
// PostgreSQL array, encoded by hand into one reused buffer. On the hot path this
// costs a tenth of what the general encoder does, which looks up how to encode
// every single value.
package bulk

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Column is one array parameter. Columns are reused: Reset empties one.
type Column struct {
	buf   []byte
	count int
}

// arrayHeader is dimensions, has-nulls flag, element type, length, lower bound: 4 bytes each.
const arrayHeader = 20

// Reset empties the column for elements of a type (pgtype.UUIDOID and so on).
func (c *Column) Reset(oid uint32) {
	c.count = 0
	c.buf = append(c.buf[:0], make([]byte, arrayHeader)...)
	binary.BigEndian.PutUint32(c.buf[0:], 1)
	binary.BigEndian.PutUint32(c.buf[4:], 1) // there may be nulls
	binary.BigEndian.PutUint32(c.buf[8:], oid)
	binary.BigEndian.PutUint32(c.buf[16:], 1)
}

// Null appends a null.
func (c *Column) Null() { c.length(-1) }

// UUID appends a uuid.
func (c *Column) UUID(id uuid.UUID) {
	c.length(16)
	c.buf = append(c.buf, id[:]...)
}

// Bool appends a boolean.
func (c *Column) Bool(v bool) {
	c.length(1)
	bit := byte(0)
	if v {
		bit = 1
	}
	c.buf = append(c.buf, bit)
}

// Int2 appends a smallint.
func (c *Column) Int2(v int16) {
	c.length(2)
	c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(v))
}

// Int4 appends an integer.
func (c *Column) Int4(v int32) {
	c.length(4)
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(v))
}

// Int8 appends a bigint.
func (c *Column) Int8(v int64) {
	c.length(8)
	c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(v))
}

// Text appends a text.
func (c *Column) Text(s string) {
	c.length(int32(len(s)))
	c.buf = append(c.buf, s...)
}

// OptionalText appends a text, null where it is empty.
func (c *Column) OptionalText(s string) {
	if s == "" {
		c.Null()
		return
	}
	c.Text(s)
}

// Bytes appends a bytea, null where it is nil.
func (c *Column) Bytes(b []byte) {
	if b == nil {
		c.Null()
		return
	}
	c.length(int32(len(b)))
	c.buf = append(c.buf, b...)
}

// epoch is where PostgreSQL's clock begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// Time appends a timestamptz.
func (c *Column) Time(at time.Time) { c.Int8(at.UnixMicro() - epoch) }

func (c *Column) length(n int32) {
	c.count++
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(n))
}

// array returns the parameter's bytes.
func (c *Column) array() []byte {
	binary.BigEndian.PutUint32(c.buf[12:], uint32(c.count))
	return c.buf
}

// Element types of columns.
const (
	UUIDs  = pgtype.UUIDOID
	Bools  = pgtype.BoolOID
	Int2s  = pgtype.Int2OID
	Int4s  = pgtype.Int4OID
	Int8s  = pgtype.Int8OID
	Texts  = pgtype.TextOID
	Byteas = pgtype.ByteaOID
	Times  = pgtype.TimestamptzOID
)

// Columns is a set of columns that is filled row by row and reused.
type Columns []Column

// Reset empties the columns for elements of these types, one column each.
func (c *Columns) Reset(oids ...uint32) {
	for len(*c) < len(oids) {
		*c = append(*c, Column{})
	}
	*c = (*c)[:len(oids)]
	for i, oid := range oids {
		(*c)[i].Reset(oid)
	}
}

// Batch is statements that travel together and are one transaction, unless the
// connection is in one already.
type Batch struct {
	statements []statement
}

type statement struct {
	sql    string
	params [][]byte
	each   func(values [][]byte) // of a query: receives the rows
}

// Add appends a statement whose parameters are columns.
func (b *Batch) Add(sql string, columns Columns) {
	params := make([][]byte, len(columns))
	for i := range columns {
		params[i] = columns[i].array()
	}
	b.statements = append(b.statements, statement{sql: sql, params: params})
}

// AddQuery appends a query whose parameters are columns. Once the batch runs, each gets the
// binary values of every row, which are valid until it returns.
func (b *Batch) AddQuery(sql string, columns Columns, each func(values [][]byte)) {
	b.Add(sql, columns)
	b.statements[len(b.statements)-1].each = each
}

// Run sends the batch on a connection of the pool and waits for its commit.
func (b *Batch) Run(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("getting a connection: %w", err)
	}
	defer conn.Release()
	return b.RunOn(ctx, conn.Conn())
}

// RunOn sends the batch on a connection. An empty one is not sent.
func (b *Batch) RunOn(ctx context.Context, conn *pgx.Conn) error {
	if len(b.statements) == 0 {
		return nil
	}
	names := make([]string, len(b.statements))
	for i, s := range b.statements {
		prepared, err := conn.Prepare(ctx, s.sql, s.sql) // remembered by the connection
		if err != nil {
			return fmt.Errorf("preparing a statement: %w", err)
		}
		names[i] = prepared.Name
	}
	pipeline := conn.PgConn().StartPipeline(ctx)
	for i, s := range b.statements {
		formats := make([]int16, len(s.params))
		for k := range formats {
			formats[k] = pgtype.BinaryFormatCode
		}
		var rowFormats []int16
		if s.each != nil {
			rowFormats = []int16{pgtype.BinaryFormatCode}
		}
		pipeline.SendQueryPrepared(names[i], s.params, formats, rowFormats)
	}
	if err := pipeline.Sync(); err != nil {
		return closePipeline(pipeline.Close, err)
	}
	return closePipeline(pipeline.Close, b.readResults(pipeline))
}

// Query runs one statement on a connection and calls each with the binary values of its rows,
// which are valid until each returns.
func Query(ctx context.Context, conn *pgx.Conn, sql string, columns Columns, each func(values [][]byte)) error {
	prepared, err := conn.Prepare(ctx, sql, sql) // remembered by the connection
	if err != nil {
		return fmt.Errorf("preparing a statement: %w", err)
	}
	params, formats := make([][]byte, len(columns)), make([]int16, len(columns))
	for i := range columns {
		params[i], formats[i] = columns[i].array(), pgtype.BinaryFormatCode
	}
	rows := conn.PgConn().ExecPrepared(ctx, prepared.Name, params, formats, []int16{pgtype.BinaryFormatCode})
	for rows.NextRow() {
		each(rows.Values())
	}
	_, err = rows.Close()
	return err
}

// readResults reads what the statements answered, to the end of the transaction.
func (b *Batch) readResults(pipeline *pgconn.Pipeline) error {
	for n := 0; ; n++ {
		results, err := pipeline.GetResults()
		if err != nil {
			return err
		}
		switch answer := results.(type) {
		case *pgconn.ResultReader:
			for b.statements[n].each != nil && answer.NextRow() {
				b.statements[n].each(answer.Values())
			}
			if _, err := answer.Close(); err != nil {
				return err
			}
		case *pgconn.PipelineSync, nil:
			return nil
		}
	}
}

// closePipeline closes a pipeline and returns the first error.
func closePipeline(closing func() error, first error) error {
	if err := closing(); first == nil {
		return err
	}
	return first
}
