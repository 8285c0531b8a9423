# Frozen reference for the bootstrap estimates: ipred::errorest on bags written down beside the answers.
# Run in this directory: Rscript bootstrap.R
library(ipred)
library(class)
library(MASS)
library(jsonlite)

set.seed(20240611)
n <- 60
bags <- lapply(1:40, function(b) sample(n, n, replace = TRUE))
control <- control.errorest(list.tindx = bags)

one_nn <- function(formula, data) {
  train <- data
  function(newdata) knn(train[, -1], newdata[, -1], train$y, k = 1)
}
discriminant <- function(formula, data) lda(formula, data = data)
discriminant_class <- function(object, newdata) predict(object, newdata = newdata)$class

classified <- function(data, model, predict = NULL) {
  ask <- function(estimator) {
    if (is.null(predict)) errorest(y ~ ., data, model = model, estimator = estimator, est.para = control)$error
    else errorest(y ~ ., data, model = model, predict = predict, estimator = estimator, est.para = control)$error
  }
  list(boot = ask("boot"), plus = ask("632plus"))
}

X <- matrix(round(rnorm(n * 5), 6), n)
noise <- factor(sample(0:1, n, replace = TRUE))
signal <- factor(as.integer(X[, 1] + 0.5 * X[, 2] + rnorm(n) > 0))
response <- round(X[, 1] - X[, 2] + rnorm(n), 6)
frame <- function(y) data.frame(y = y, X)
regressed <- errorest(y ~ ., frame(response), model = lm, estimator = "boot", est.para = control)$error

write_json(
  list(
    X = X, noise = as.integer(as.character(noise)), signal = as.integer(as.character(signal)), response = response,
    bags = do.call(rbind, bags) - 1L,
    one_nn_noise = classified(frame(noise), one_nn),
    one_nn_signal = classified(frame(signal), one_nn),
    lda_signal = classified(frame(signal), discriminant, discriminant_class),
    lm_root_mean_squared = regressed,
    versions = list(R = R.version.string, ipred = as.character(packageVersion("ipred")))
  ),
  "bootstrap_r.json", auto_unbox = TRUE, digits = NA
)
