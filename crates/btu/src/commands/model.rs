//! `btu model`: computes the closed forms' prediction for a network file.

mod most;
mod transferred;

use btu_contract::json;
use btu_model::predict::{self, Prediction, Question, Range};
use btu_network::Drawing;
use btu_report::{
    SweepTable, first_screen, model_page, model_text, sweep_csv, sweep_picture, sweep_text,
    workbook,
};
use serde_json::json;

use crate::cli::{Common, Model};
use crate::commands::{model_check, model_ui};
use crate::exit::Refusal;
use crate::files::{self, Source};
use crate::terminal;

/// Predicts, and prints the requested output.
pub(crate) fn run(model: &Model, common: &Common) -> anyhow::Result<()> {
    if model.ui {
        return model_ui::run(model, common);
    }
    let source = model.source()?;
    if !model.check.check.is_empty() {
        return model_check::run(model, common, &source);
    }
    match (&model.sweep, &model.most) {
        (Some(range), _) => sweep(model, common, &source, range),
        (None, Some(most)) => most::run(model, common, &source, most),
        (None, None) => {
            let (drawing, mut prediction) = predicted(model, &source, None)?;
            if let Some(path) = &model.xlsx {
                let bytes = workbook(&drawing, &prediction)
                    .map_err(|error| Refusal::Usage(error.to_string()))?;
                files::save(path, &bytes)?;
            }
            transferred::simulate(model, &drawing, &mut prediction)?;
            if common.json {
                return terminal::print_json(&prediction);
            }
            let options = terminal::text_options();
            terminal::print(&if model.all {
                model_text(&prediction, &drawing.about, &options)
            } else {
                first_screen(
                    &model_page(
                        &prediction,
                        &format!("{} --all", terminal::again()),
                        &model.typed(),
                    ),
                    &options,
                )
            })
        }
    }
}

/// The file's prediction, with one more setting.
pub(crate) fn predicted(
    model: &Model,
    source: &Source,
    setting: Option<(&str, &str)>,
) -> anyhow::Result<(Drawing, Prediction)> {
    let mut settings = model.settings.clone();
    settings.extend(setting.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let drawing = files::emulated(
        source.read(&settings).map_err(|error| Refusal::Usage(error.to_string()))?,
    )?;
    let prediction = answer(model, &drawing)?;
    Ok((drawing, prediction))
}

/// Predicts the drawing with the options of the command line.
pub(crate) fn answer(model: &Model, drawing: &Drawing) -> anyhow::Result<Prediction> {
    let transfer = model.transfer.map(|size| model.transfer_of(size));
    let question = Question { transfer, sizes: model.sizes.map(Into::into) };
    predict::predict_with(drawing, &question)
        .map_err(|error| Refusal::Usage(error.to_string()).into())
}

/// Predictions along a key.
pub(crate) fn points(
    model: &Model,
    source: &Source,
    range: &Range,
) -> anyhow::Result<Vec<(f64, Prediction)>> {
    predict::sweep_with(range, |key, value| Ok(predicted(model, source, Some((key, value)))?.1))
}

fn sweep(model: &Model, common: &Common, source: &Source, range: &Range) -> anyhow::Result<()> {
    let points = points(model, source, range)?;
    let table = SweepTable { key: range.key.clone(), unit: range.unit.clone(), points };
    if let Some(path) = &model.csv {
        files::save(path, sweep_csv(&table).as_bytes())?;
    }
    files::save_picture(model.svg.as_deref(), || Ok(sweep_picture(&table)))?;
    if common.json {
        let point = |(value, prediction): &(f64, Prediction)| {
            json::to_value(prediction)
                .map(|prediction| json!({ "value": value, "prediction": prediction }))
        };
        let points = table.points.iter().map(point).collect::<Result<Vec<_>, _>>()?;
        return terminal::print_json(
            &json!({ "key": table.key, "unit": table.unit, "points": points }),
        );
    }
    terminal::print(&sweep_text(&table, &terminal::text_options()))
}
