//! Arrow's C interfaces by hand, read by pandas, polars and pyarrow without a copy.
//! <https://arrow.apache.org/docs/format/CDataInterface.html> says what every field means.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::columns::{Column, Table, Values, table};
use crate::{Args, Given};

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: what the pointers lead to is owned by the struct and shared with nobody until it is handed over.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowArrayStream {}

/// A null may stand in the column.
const NULLABLE: i64 = 2;

struct SchemaParts {
    _format: CString,
    _name: CString,
    children: Vec<*mut ArrowSchema>,
}

/// What an array owns: the table keeps the values alive.
struct ArrayParts {
    _table: Arc<Table>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

struct StreamState {
    table: Arc<Table>,
    sent: bool,
}

fn format_of(column: &Column) -> &'static CStr {
    match column.values {
        Values::Text { .. } => c"U",
        Values::Number(_) => c"g",
        Values::Count(_) => c"l",
        Values::Flag(_) => c"b",
    }
}

fn schema_node(
    format: &CStr,
    name: &str,
    flags: i64,
    children: Vec<*mut ArrowSchema>,
) -> ArrowSchema {
    // A name with a zero byte cannot be told to C; it is cut there.
    let name = name.split('\0').next().unwrap_or("");
    let mut parts = Box::new(SchemaParts {
        _format: format.to_owned(),
        _name: CString::new(name).unwrap_or_default(),
        children,
    });
    ArrowSchema {
        format: parts._format.as_ptr(),
        name: parts._name.as_ptr(),
        metadata: null(),
        flags,
        n_children: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(parts).cast(),
    }
}

fn schema_of(table: &Table) -> ArrowSchema {
    let children = table.columns.iter().map(|column| {
        let node = schema_node(format_of(column), &column.name, NULLABLE, Vec::new());
        Box::into_raw(Box::new(node))
    });
    schema_node(c"+s", "", 0, children.collect())
}

macro_rules! releasing {
    ($name:ident, $node:ty, $parts:ty) => {
        unsafe extern "C" fn $name(node: *mut $node) {
            // SAFETY: the consumer calls this once on a struct that we filled; children that were moved
            // away have lost their release function, and are only freed as memory.
            unsafe {
                let parts = Box::from_raw((*node).private_data.cast::<$parts>());
                for &child in &parts.children {
                    let mut child = Box::from_raw(child);
                    if let Some(release) = child.release {
                        release(&raw mut *child);
                    }
                }
                (*node).release = None;
            }
        }
    };
}

releasing!(release_schema, ArrowSchema, SchemaParts);
releasing!(release_array, ArrowArray, ArrayParts);

fn array_node(
    table: &Arc<Table>,
    (length, missing): (usize, usize),
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
) -> ArrowArray {
    let mut parts = Box::new(ArrayParts {
        _table: Arc::clone(table),
        buffers,
        children,
    });
    ArrowArray {
        length: length as i64,
        null_count: missing as i64,
        offset: 0,
        n_buffers: parts.buffers.len() as i64,
        n_children: parts.children.len() as i64,
        buffers: parts.buffers.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(parts).cast(),
    }
}

fn array_of(table: &Arc<Table>) -> ArrowArray {
    let children = table.columns.iter().map(|column| {
        let valid = column.validity().map_or(null(), |v| v.as_ptr().cast());
        let buffers: Vec<*const c_void> = match &column.values {
            Values::Text { offsets, bytes } => {
                vec![valid, offsets.as_ptr().cast(), bytes.as_ptr().cast()]
            }
            Values::Number(values) => vec![valid, values.as_ptr().cast()],
            Values::Count(values) => vec![valid, values.as_ptr().cast()],
            Values::Flag(bits) => vec![valid, bits.as_ptr().cast()],
        };
        let size = (column.rows, column.missing);
        Box::into_raw(Box::new(array_node(table, size, buffers, Vec::new())))
    });
    array_node(table, (table.rows(), 0), vec![null()], children.collect())
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: `stream` is one of ours and alive; `out` is room for a schema.
    unsafe {
        let state = &*(*stream).private_data.cast::<StreamState>();
        out.write(schema_of(&state.table));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above; a struct without a release function says that there is no more.
    unsafe {
        let state = &mut *(*stream).private_data.cast::<StreamState>();
        if std::mem::replace(&mut state.sent, true) {
            out.write_bytes(0, 1);
        } else {
            out.write(array_of(&state.table));
        }
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: called once, by the consumer or by the capsule's destructor.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamState>()));
        (*stream).release = None;
    }
}

/// A stream of the table's one batch, as a capsule.
pub(crate) fn stream(args: Args<'_, '_>) -> Given {
    let first = args.get_item(0)?;
    let state = Box::new(StreamState {
        table: Arc::clone(table(&first)?),
        sent: false,
    });
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(state).cast(),
    };
    capsule(args, stream, c"arrow_array_stream", |stream| stream.release)
}

/// A capsule that releases what nobody took out of it.
fn capsule<T: Send + 'static>(
    args: Args<'_, '_>,
    given: T,
    name: &'static CStr,
    release: fn(&T) -> Option<unsafe extern "C" fn(*mut T)>,
) -> Given {
    let end = move |mut given: T, _| {
        if let Some(release) = release(&given) {
            // SAFETY: nobody took it out of the capsule, so it is ours to release.
            unsafe { release(&raw mut given) }
        }
    };
    let capsule = PyCapsule::new_with_value_and_destructor(args.py(), given, name, end)?;
    Ok(capsule.into_any().unbind())
}

pub(crate) fn schema(args: Args<'_, '_>) -> Given {
    let first = args.get_item(0)?;
    let schema = schema_of(table(&first)?);
    capsule(args, schema, c"arrow_schema", |schema| schema.release)
}
