//! Reports of runs: text from stored data only, so that every report can be made again.
//!
//! Data in, text out: nothing here reads a clock, a terminal or a file. The caller gives the width
//! of the text and whether it may have colour.

#![forbid(unsafe_code)]

mod app;
mod compare;
mod copy;
mod course;
mod csv;
mod differs;
mod doctor;
mod fleet;
mod foreign;
mod head;
mod hint;
mod history;
pub mod html;
mod interval;
mod junit;
mod lan;
mod machines;
mod markdown;
mod model;
mod model_check;
mod names;
mod narrow;
mod number;
mod openmetrics;
mod page_text;
mod paint;
mod pictures;
mod pipe;
mod rank;
mod roll_page;
mod run;
mod run_page;
mod runs;
mod script_cells;
mod sheet;
mod sim;
mod speed;
mod stored_page;
mod study;
mod summary;
mod unit;
mod versus;
mod xlsx;
mod xlsx_page;

pub use compare::comparison_page;
pub use course::course_picture;
pub use csv::{RawRow, csv, raw_csv};
pub use doctor::doctor_text;
pub use foreign::foreign_page;
pub use head::{RunHead, TextOptions};
pub use hint::{hint_csv, hint_picture};
pub use history::{studies_text, study_text};
pub use interval::interval_lines;
pub use junit::junit;
pub use machines::machines_text;
pub use markdown::markdown;
pub use model::{
    Answered, Beyond, MostFound, SweepTable, alike_segments, figures, model_page, model_text,
    most_text, sweep_csv, sweep_picture, sweep_text,
};
pub use model_check::{
    AnswerKind, Break, CheckCase, CheckFlow, CheckPoint, MeasuredAccounts, MeasuredFlow,
    ModelCheck, RangeVerdict, WITHIN, check_csv, check_picture, check_text,
};
pub use names::names_text;
pub use narrow::narrowed_text;
pub use openmetrics::openmetrics;
pub use page_text::{page_text, section_text};
pub use pictures::svg;
pub use pipe::{
    Graph, NamedSignature, PLOT_ROWS, StoredSignature, named_signatures, np_out, pipe_csv,
    pipe_picture, pipe_plot, set_csv, set_title, several_page, signature_names, signatures_page,
};
pub use rank::{MachineCard, RankPage, rank_text};
pub use roll_page::roll_page;
pub use run_page::{RuleFacts, RunMark, RunReport, VARIANCE, run_marks, run_page};
pub use runs::{RunLine, rating_words, runs_text};
pub use script_cells::script_cells;
pub use sim::{sim_page, sim_text};
pub use speed::verdict::bloat_sentence;
pub use stored_page::{EarlierRuns, Origin, StoredRun};
pub use study::{CellTable, Reported, raw_value};
pub use summary::{FIRST_SCREEN_TEXTS, KeyFigure, Next, Summary, first_screen};
pub use xlsx::{WorkbookError, workbook};
pub use xlsx_page::page_workbook;
